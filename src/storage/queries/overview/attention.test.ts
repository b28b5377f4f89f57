import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { countHours, isAsOldAs } from '../../../../test/support/administration-world/counted-hours.ts'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId } from '../../../core/ids.ts'
import type { Overview } from '../../../core/ports/console/overview.ts'
import { DAY_MS, HOUR_MS } from './hours.ts'
import { createOverview } from './overview.ts'

let world: AdministrationWorld
let overview: Overview
let account: AccountId

describe.each(ENGINES)('what needs attention, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    overview = createOverview(world.store)
    account = await world.account('Acme')
    return close
  })

  it('groups what needs attention of seven days by its reason, most first', async () => {
    await isAsOldAs(world, 9 * DAY_MS, 8 * DAY_MS, 2 * DAY_MS, 1)
    const connectionId = await world.connection(account)
    const failed = { connectionId, state: 'FAILED', reason: 'recipient_refused' } as const
    await world.accept({ ...failed, acceptedAt: NOON - 8 * DAY_MS })
    await world.accept({ ...failed, acceptedAt: NOON - 2 * DAY_MS })
    await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown', acceptedAt: NOON - 9_000 })
    await world.accept({ connectionId, state: 'EXPIRED', reason: 'expired', acceptedAt: NOON - 8_000 })
    await world.accept({ ...failed, acceptedAt: NOON - 7_000 })
    await world.accept({ connectionId, state: 'CANCELLED', reason: 'cancelled_by_person' })
    await countHours(world)

    const { from, groups } = await overview.readAttention(account)

    assert.equal(from, NOON - 7 * DAY_MS)
    assert.deepEqual(groups, [
      { state: 'FAILED', reason: 'recipient_refused', count: 2, latestAt: NOON - 7_000 },
      { state: 'EXPIRED', reason: 'expired', count: 1, latestAt: NOON - 8_000 },
    ])
  })

  it.each([
    ['1 hour', HOUR_MS, true],
    ['3 days', 3 * DAY_MS, true],
    ['1 minute, not yet counted', 60_000, false],
  ])(
    'counts no message to a blocked recipient, and one that failed once sent with those not sent, %s old',
    async (_, ageMs, isCounted) => {
      await isAsOldAs(world, 9 * DAY_MS, ageMs)
      const connectionId = await world.connection(account)
      const failed = { connectionId, state: 'FAILED', acceptedAt: NOON - ageMs } as const
      await world.accept({ ...failed, reason: 'recipient_blocked' })
      await world.accept({ ...failed, reason: 'whatsapp_131026' })
      const later = await world.accept({ ...failed, reason: 'whatsapp_131026' })
      await world.database.rewriteMessage(later.sequence, { published_at: NOON - ageMs + 1 })
      if (isCounted) await countHours(world)
      const groups = async () =>
        (await overview.readAttention(account)).groups.map(({ reason, count: many }) => `${many} ${reason}`)

      const before = await groups()
      await world.administration.retryMessage(later.id, 'anna')
      if (isCounted) await countHours(world)

      assert.deepEqual(before, ['2 whatsapp_131026'])
      assert.deepEqual(await groups(), ['1 whatsapp_131026'])
    },
  )

  it('remembers what was seen up to when, of this account alone and not without end', async () => {
    const other = await world.account('Other')
    for (let key = 0; key < 201; key++) {
      world.now += 1
      await overview.noteAttentionSeen(account, { key: `key ${key}`, until: NOON }, 'anna')
    }
    await overview.noteAttentionSeen(account, { key: 'key 200', until: NOON + 5 }, 'ben')

    const { seen } = await overview.readAttention(account)

    assert.deepEqual(seen.get('key 200'), { until: NOON + 5, by: 'ben', at: world.now })
    assert.deepEqual([seen.size, seen.has('key 0')], [200, false])
    assert.equal((await overview.readAttention(other)).seen.size, 0)
  })

  it.each([
    ['3 days', 3 * DAY_MS],
    ['20 days', 20 * DAY_MS],
  ])('no longer shows a message that a person has dealt with, though it is %s old', async (_, ageMs) => {
    await isAsOldAs(world, 31 * DAY_MS, ageMs)
    const connectionId = await world.connection(account)
    const made = { connectionId, acceptedAt: NOON - ageMs }
    const asked = await world.accept({ ...made, state: 'UNCONFIRMED', reason: 'result_unknown' })
    const again = await world.accept({ ...made, state: 'UNCONFIRMED', reason: 'result_unknown' })
    const failed = await world.accept({ ...made, state: 'FAILED', reason: 'recipient_refused' })
    await world.accept({ ...made, state: 'FAILED', reason: 'recipient_refused' })
    await countHours(world)
    const before = await overview.readAttention(account)
    await world.administration.resolveMessage(asked.id, 'arrived', 'anna')
    await world.administration.resolveMessage(again.id, 'send-again', 'anna')
    await world.administration.retryMessage(failed.id, 'anna')
    await countHours(world)

    const wanted = { accountId: account, range: '30d', connectionId: null, timeZone: null, offsetMinutes: 0 } as const
    const after = await overview.readOverview(wanted)

    assert.deepEqual(
      before.groups.map(({ count }) => count),
      ageMs < 7 * DAY_MS ? [2] : [],
    )
    const left = { state: 'FAILED', reason: 'recipient_refused', count: 1, latestAt: NOON - ageMs }
    assert.deepEqual((await overview.readAttention(account)).groups, ageMs < 7 * DAY_MS ? [left] : [])
    const { totals: ofConnection } = await overview.readOverview({ ...wanted, connectionId })
    for (const { published, unconfirmed, failed: failures } of [after.totals, ofConnection])
      assert.deepEqual([published, unconfirmed, failures], [1, 1, 2])
  })
})
