import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { meet, newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addConnection,
  addSender,
  attempt,
  claim,
  head,
  holdLane,
  open,
  RECIPIENT,
  report,
  type Sender,
  stateOf,
  step,
} from '../../../../test/conformance/storage-world.ts'
import type { MessageId } from '../../../core/ids.ts'
import { decideAfterTry } from '../../../core/notifications/decide-after-try.ts'
import type { TriedDelivery } from '../../../core/ports/deliveries.ts'
import type { Disposition } from '../../../core/ports/lanes.ts'
import { createLaneViews } from '../../queries/lanes/lane-views.ts'
import { HourTally } from '../../queries/overview/hour-tally.ts'
import { hourOf } from '../../queries/overview/hours.ts'
import { writeHour } from '../../queries/overview/write-hour.ts'
import { eraseRecipient } from '../../queries/recipients/erase-recipient.ts'
import { createDeliveries } from '../../queries/webhooks/deliveries.ts'
import { createWebhooks } from '../../queries/webhooks/webhooks.ts'

const DAY = 86_400_000
const PUBLISHED = { do: 'finalize', as: 'PUBLISHED', reason: null, words: null } as const
const UNCONFIRMED = { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: null } as const
const WAITS = JSON.stringify({
  tries: 1,
  resent: false,
  crashes: 0,
  wait: { kind: 'retry', until: Number.MAX_SAFE_INTEGER },
})

let world: PostgresWorld
let sender: Sender

beforeEach(async () => {
  world = await newPostgresWorld()
  sender = await addSender(world)
  return () => world.close()
})

// What a service does comes first in each pair. It is repeated after a deadlock, what a person does is not.
describe('two transactions on PostgreSQL that change the same messages', () => {
  it('do not deadlock when reports come while the connection is removed', async () => {
    const messages = await waiting(3)

    await meet(world, `select from queued where sequence = ${messages[1]!.sequence} for update`, [
      () => reportAll(messages.map(({ id }) => id)),
      () => world.administration.removeConnection(sender.connectionId, true, 'test'),
    ])

    assert.deepEqual(await Promise.all(messages.map(({ id }) => stateOf(world, id))), Array(3).fill('CANCELLED'))
  })

  it('do not deadlock when reports come while a person ends the waits of messages', async () => {
    const messages = await waiting(3)
    await world.sql(`update queued set retry = '${WAITS}'`)
    const { accountId, connectionId: id } = sender

    await meet(world, `select from queued where sequence = ${messages[1]!.sequence} for update`, [
      () => reportAll(messages.map((message) => message.id)),
      () => createLaneViews(world.store).endWait({ accountId, id }, 'test'),
    ])

    assert.deepEqual(await world.sql(`select from queued where retry = '${WAITS}'`), [])
  })

  it('do not deadlock when reports come while the recipient is erased', async () => {
    const ids = [await finish(PUBLISHED), await finish(PUBLISHED), await finish(PUBLISHED)]

    await meet(world, `select from settled where id = '${ids[1]}' for update`, [() => reportAll(ids), erase])

    assert.deepEqual(await world.sql('select distinct recipient, state from settled'), [
      { recipient: 'erased', state: 'DELIVERED' },
    ])
  })

  it.each(['message.body', 'message'] as const)(
    'do not deadlock when old rows are deleted while the recipient is erased: %s',
    async (what) => {
      const ids = [await finish(PUBLISHED), await finish(PUBLISHED), await finish(PUBLISHED)]
      const now = world.clock.now() + DAY
      const task = { do: 'walk', what, accountId: sender.accountId, before: now } as const

      await meet(world, `select from settled where id = '${ids[1]}' for update`, [
        () => world.retention.step(task, { now, limit: 100, cursor: null }),
        erase,
      ])

      assert.deepEqual(
        await world.sql("select from settled where recipient <> 'erased' or body_deleted_at is null"),
        [],
      )
    },
  )
})

describe('two transactions on PostgreSQL that change the same lanes and sessions', () => {
  it('do not deadlock when a worker releases lanes while a recipient is erased that their waits name', async () => {
    const numbers = ['15550001001', '15550001002']
    for (const number of numbers) await addConnection(world, sender.accountId, { number })
    for (const number of [sender.number, ...numbers]) await accept(world, { ...sender, number }, { to: '15550100001' })
    await world.lanes.heartbeat(ANNA, 15_000)
    const lanes = (await claim(world, ANNA)).toSorted((a, b) => (a.connectionId < b.connectionId ? -1 : 1))
    for (const { connectionId } of lanes.toReversed())
      await world.sql(`update lane set wait_words = '${RECIPIENT} is away' where connection_id = '${connectionId}'`)
    const ids = lanes.map(({ connectionId }) => connectionId)
    // Past the process, which repeats it after a deadlock.
    const worker = await world.session()

    await meet(world, `select from lane where connection_id = '${ids[1]}' for update`, [
      () => worker.query('select release_lanes($1, $2)', [ids, lanes.map(({ epoch }) => epoch)]),
      erase,
    ])

    assert.deepEqual(await world.sql('select distinct owner, wait_words from lane'), [
      { owner: null, wait_words: null },
    ])
  })

  it.each(['write', 'remove'] as const)(
    'do not deadlock in a %s of a session while a recipient is erased',
    async (what) => {
      await accept(world, sender, { to: '15550100001' })
      const { connectionId, epoch } = await holdLane(world, ANNA, sender.connectionId)
      const { holds } = (await world.sessions.find({ connectionId, epoch }))!
      const right = { connectionId, epoch, holds }
      const keys = ['a', 'b', 'c'].map((id) => ({ kind: 'session', id, recipient: RECIPIENT, value: Buffer.of(1) }))
      await world.sessions.write(right, { dataKey: 'sealed', credentials: Buffer.of(1), keys })

      await meet(world, `select from channel_session_key where id = 'b' for update`, [
        () =>
          what === 'write' ? world.sessions.write(right, { keys: keys.toReversed() }) : world.sessions.remove(right),
        erase,
      ])

      assert.deepEqual(await world.sql('select from channel_session_key'), [])
    },
  )
})

describe('two transactions on PostgreSQL that hold all lanes', () => {
  beforeEach(async () => {
    await accept(world, sender)
    await open(world, await holdLane(world, ANNA, sender.connectionId), await head(world, sender.connectionId))
  })

  it('do not deadlock when a person holds them at the same time as a service', async () => {
    const service = await world.session()

    await meet(world, 'select from lane_attempt for update', [
      () => world.administration.holdLanes('a test', 'test'),
      () => service.query(`select hold_lanes('it went back', 0, 0)`),
    ])

    assert.deepEqual(await world.sql('select reason, holds from hold, checkpoint'), [{ reason: 'a test', holds: 1 }])
  })

  it('do not deadlock when another service finds that standbys have come or gone', async () => {
    const [one, other] = [await world.session(), await world.session()]
    await world.sql('update known_server set is_synchronous = true')

    await meet(world, 'select from lane_attempt for update', [
      () => one.query(`select hold_lanes('it went back', 0, 0)`),
      () => other.query('select from advance_checkpoint()'),
    ])

    assert.deepEqual(await world.sql('select is_synchronous from known_server'), [{ is_synchronous: false }])
  })
})

describe('two transactions on PostgreSQL that change the same figures', () => {
  it('do not deadlock when a person resolves a message of an old hour that is being counted', async () => {
    const { accountId, connectionId } = sender
    const hour = hourOf(world.clock.now())
    const id = await finish(UNCONFIRMED)
    const reason = {
      account_id: accountId,
      state: 'UNCONFIRMED',
      reason: 'result_unknown',
      latest_at: world.clock.now(),
    } as const
    await writeHour({ tables: world.store.database }, { hour, countedAt: world.clock.now(), tally: tallyOf(1) })
    await world.clock.pass(20 * DAY)

    await meet(world, `select from tally where connection_id = '${connectionId}' for update`, [
      () => writeHour({ tables: world.store.database }, { hour, countedAt: world.clock.now(), tally: tallyOf(2) }),
      () => world.administration.resolveMessage(id, 'arrived', 'test'),
    ])

    const rows = await world.sql(
      `select connection_id, count from tally where state = 'unconfirmed' order by connection_id`,
    )
    assert.deepEqual(
      rows,
      ['', connectionId].map((connection_id) => ({ connection_id, count: '1' })),
    )

    function tallyOf(count: number): HourTally {
      const tally = new HourTally()
      tally.add({ account_id: accountId, connection_id: connectionId, state: 'unconfirmed', count })
      tally.addReason({ ...reason, count })
      return tally
    }
  })
})

describe('two transactions on PostgreSQL that change the same deliveries', () => {
  it('do not deadlock when two processes record tries of the same webhooks', async () => {
    const { work, tries } = await claimedDeliveries()
    const [a, b, c] = tries as [TriedDelivery[], TriedDelivery[], TriedDelivery[]]

    await meet(world, `select from webhook where id = 'whk_b' for update`, [
      () => work.record([a[0]!, b[0]!, c[0]!]),
      () => work.record([c[1]!, b[1]!, a[1]!]),
    ])

    assert.deepEqual(await world.sql('select distinct state from delivery'), [{ state: 'delivered' }])
  })

  it('do not deadlock when one records tries that another sweeps', async () => {
    const { work, tries } = await claimedDeliveries()
    const [a, b, c] = tries.map(([first]) => first) as [TriedDelivery, TriedDelivery, TriedDelivery]
    await world.clock.pass(31 * DAY)

    await meet(world, `select from delivery where notice_position = ${b.position} for update`, [
      () => work.record([c, b, a]),
      () => work.sweep(0),
    ])

    assert.deepEqual(await world.sql('select from delivery'), [])
  })
})

/** Messages that wait in the lane of the sender, the first one first. */
async function waiting(count: number) {
  for (let at = 0; at < count; at++) await accept(world, sender)
  return world.lanes.fetchNext(sender.connectionId, count, 0)
}

async function finish(disposition: Disposition): Promise<MessageId> {
  const id = await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  const outcome = disposition === UNCONFIRMED ? 'unknown' : 'accepted'
  await world.lanes.record(step(world, lane, { finish: { attempt: attempt(world, message, outcome), disposition } }))
  return id
}

/** In one batch. */
function reportAll(ids: readonly MessageId[]): Promise<unknown> {
  const { connectionId } = sender
  const receipts = ids.map((messageId) => report(world, { connectionId, messageId, kind: 'delivered' }))
  return Promise.all(receipts.map((receipt) => world.lanes.applyReceipt(receipt)))
}

function erase(): Promise<unknown> {
  const { accountId } = sender
  const wanted = { accountId, recipient: RECIPIENT, cancelWaiting: false, hashedEntry: 'h:hash' }
  return eraseRecipient(world.store, wanted, { actor: 'test', removeFile: async () => {} })
}

/** Two deliveries of each of three webhooks, which were tried with success. */
async function claimedDeliveries() {
  const [hooks, work] = [createWebhooks(world.store), createDeliveries(world.store)]
  const { accountId } = sender
  const ids = ['whk_a', 'whk_b', 'whk_c']
  for (const id of ids) {
    const url = 'https://shop.example/hook'
    await hooks.addWebhook({ accountId, id, url, description: '', kinds: [], secret: 'sealed' }, 'test')
    for (let at = 0; at < 2; at++) await hooks.testWebhook({ accountId, id }, 'test')
  }
  const claimed = await work.claimDue({ room: 6, roomForFailing: 0, leaseMs: 60_000 })
  const end = { kind: 'answered', status: 204, retryAfterMs: null, excerpt: '' } as const
  const at = world.clock.now()
  const checked = decideAfterTry(end, { number: 1, now: at, jitter: 0.5 })
  const tried = claimed.map((one): TriedDelivery => ({ ...one, at, tookMs: 1, checked }))
  return { work, tries: ids.map((id) => tried.filter(({ webhookId }) => webhookId === id)) }
}
