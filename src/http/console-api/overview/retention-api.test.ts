import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../../test/support/administration-world/open-administration-world.ts'
import { ConsoleWorld, type Visitor } from '../../../../test/support/console-world/console-world.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'

const MINUTE_MS = 60_000
const STEP_UP_LASTS_MS = 5 * MINUTE_MS
const NONE = { bodiesDays: null, messagesDays: null }

let world: ConsoleWorld
let acme: AccountId
let anna: Visitor

describe.each(ENGINES)('retention in the console, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    acme = await world.account()
    anna = await world.visitor(acme)
    return close
  })

  const read = (as: Visitor) => world.call('readRetention', { as, params: { account: acme } })
  const change = (as: Visitor, body: unknown) => ({ as, params: { account: acme }, body })

  it('is shown to everybody of the account: as the installation has it, and that it waits', async () => {
    const viewer = await world.visitor(acme, 'viewer')
    const before = await read(viewer)
    const begins = world.now + MINUTE_MS
    await world.delayRetention(begins)
    const waiting = await read(viewer)
    await world.run('update retention_state set begun_at = 1, ended_at = 2, took_ms = 1, counts = ?', '{}')
    world.now += MINUTE_MS
    const after = await read(viewer)

    assert.deepEqual(before.installation, { bodiesDays: 30, messagesDays: 90, auditDays: 400 })
    assert.deepEqual(before.own, NONE)
    const shown = [before, waiting, after].map(({ waitsUntil, waitsFor, lastSweptAt }) => [
      waitsUntil,
      waitsFor,
      lastSweptAt,
    ])
    assert.deepEqual(shown, [
      [null, null, null],
      [begins, 'copy', null],
      [null, null, 2],
    ])
  })

  it('G8: is shortened by an owner, for this account alone and with an entry in the audit log', async () => {
    const other = await world.account('Other')
    const ben = await world.visitor(other)
    const own = { bodiesDays: 7, messagesDays: 40 }

    const changed = await world.call('changeRetention', { as: anna, params: { account: acme }, body: own })
    const [ours, theirs] = [
      await read(anna),
      await world.call('readRetention', { as: ben, params: { account: other } }),
    ]
    const back = await world.call('changeRetention', { as: anna, params: { account: acme }, body: NONE })

    assert.deepEqual([changed, ours.own, theirs.own, back], [own, own, NONE, NONE])
    const entries = await world.audited('retention.change')
    assert.deepEqual(
      entries.map(({ actor, account_id, detail }) => [actor, account_id, JSON.parse(detail)]),
      [
        [anna.email, acme, own],
        [anna.email, acme, NONE],
      ],
    )
  })

  it.each([
    { bodiesDays: 31, messagesDays: null },
    { bodiesDays: null, messagesDays: 91 },
    { bodiesDays: 0, messagesDays: null },
    { bodiesDays: null, messagesDays: 9 },
    { bodiesDays: 20, messagesDays: 10 },
  ])('refuses %j', async (body) => {
    assert.match(await world.refusal('changeRetention', change(anna, body)), /^4\d\d \w+_invalid$/)
    assert.deepEqual((await read(anna)).own, NONE)
  })

  it('requires step-up to change, because deleted data does not come back', async () => {
    world.now += STEP_UP_LASTS_MS + 1

    const late = await world.refusal('changeRetention', change(anna, { bodiesDays: 7, messagesDays: null }))

    assert.equal(late, '403 step_up_required')
    assert.deepEqual((await read(anna)).own, NONE)
  })

  it('cannot be changed by developers, viewers or people of other accounts', async () => {
    const ben = await world.visitor(await world.account('Other'))
    const visitors = [await world.visitor(acme, 'developer'), await world.visitor(acme, 'viewer'), ben]
    const refusals: string[] = []
    for (const as of visitors)
      refusals.push(await world.refusal('changeRetention', change(as, { bodiesDays: 7, messagesDays: null })))
    refusals.push(await world.refusal('readRetention', { as: ben, params: { account: acme } }))

    assert.deepEqual(refusals, ['403 role_too_low', '403 role_too_low', '404 account_unknown', '404 account_unknown'])
    assert.deepEqual((await read(anna)).own, NONE)
  })
})

describe.each(ENGINES)('a message whose content is gone, in the console, on %s', (engine) => {
  let connectionId: ConnectionId

  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    acme = await world.account()
    anna = await world.visitor(acme)
    connectionId = await world.connection(acme)
    return close
  })

  const of = (id: MessageId) => ({ as: anna, params: { account: acme, id } })

  /** The state after a sweep. */
  async function empty(id: MessageId): Promise<void> {
    await world.run(
      `update ${engine === 'SQLite' ? 'message' : 'settled'} set body = '', body_crc = 0, body_deleted_at = ? where id = ?`,
      world.now,
      id,
    )
  }

  it('cannot be sent again, and nothing is queued', async () => {
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'busy' })
    const doubtful = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
    for (const { id } of [failed, doubtful]) await empty(id)

    const refusals = [
      await world.refusal('retryMessage', of(failed.id)),
      await world.refusal('resolveMessage', { ...of(doubtful.id), body: { as: 'send-again' } }),
    ]

    assert.deepEqual(refusals, ['409 message_body_deleted', '409 message_body_deleted'])
    const [rows] = await world.all('select count(*) as messages from message')
    assert.equal(Number(rows?.['messages']), 2)
  })

  it('is sent again as long as its content is there, and can still be said to have arrived when it is gone', async () => {
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'busy' })
    const doubtful = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
    await empty(doubtful.id)

    const again = await world.call('retryMessage', of(failed.id))
    const arrived = await world.call('resolveMessage', { ...of(doubtful.id), body: { as: 'arrived' } })

    assert.deepEqual([again.state, arrived.state], ['QUEUED', 'PUBLISHED'])
  })
})
