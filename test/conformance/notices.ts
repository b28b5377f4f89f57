import assert from 'node:assert/strict'
import type { AccountId, MessageId } from '../../src/core/ids.ts'
import type { QueuedMessage, SettledState } from '../../src/core/message/message.ts'
import { NOTIFICATION_KIND_NAMES } from '../../src/core/notifications/notification-kinds.ts'
import type { ClaimedLane } from '../../src/core/ports/lanes.ts'
import type { NewNotification } from '../../src/core/ports/notifications.ts'
import type { ReasonCode } from '../../src/core/reasons.ts'
import { createLaneViews } from '../../src/storage/queries/lanes/lane-views.ts'
import {
  ANNA,
  AS_PUBLISHED,
  accept,
  addConnection,
  addSender,
  attempt,
  head,
  holdLane,
  KEEP,
  type NewWorld,
  open,
  report,
  type Sender,
  type StorageWorld,
  type Suite,
  stateOf,
  step,
} from './storage-world.ts'

/** What every engine promises the receivers of notifications. */
export function noticesKeepTheirPromises(suite: Suite, newWorld: NewWorld): void {
  rareNotices(suite, newWorld)
  noticesOfStates(suite, newWorld)
  nothingTooMuch(suite, newWorld)
}

function rareNotices({ it }: Suite, newWorld: NewWorld): void {
  it('stores an equal notification once, however often and from however many workers it comes', async () => {
    const world = await newWorld()
    const { accountId } = await addSender(world)
    const other = await addSender(world, { number: '15550001001' })
    const silent = await addSender(world, { number: '15550001002' })
    for (const each of [accountId, other.accountId]) await want(world, each, ['token.expired'])

    await Promise.all([announce(world, accountId, 'a'), announce(world, accountId, 'a')])
    await announce(world, accountId, 'a', 'b')
    await announce(world, other.accountId, 'a')
    await announce(world, silent.accountId, 'a')
    await world.notices.announce([])

    assert.deepEqual(
      (await noticesOf(world, accountId)).map(({ key, kind }) => [key, kind]),
      [
        ['a', 'token.expired'],
        ['b', 'token.expired'],
      ],
    )
    assert.deepEqual(await noticesOf(world, silent.accountId), [])
    const [foreign] = await noticesOf(world, other.accountId)
    assert.deepEqual([foreign?.key, foreign?.at], ['a', world.clock.now()])
    assert.deepEqual(JSON.parse(foreign?.data ?? ''), { name: 'ü"\\' })
    assert.match(foreign?.id ?? '', /^ntc_[0-9a-f]{32}$/)
    await world.close()
  })

  it('stores a notification whose text the database cannot store unchanged', async () => {
    const world = await newWorld()
    const { accountId } = await addSender(world)

    await want(world, accountId, ['token.expired'])
    const spoilt = { accountId, kind: 'token.expired', at: 1, key: 'a\0b', data: { name: 'x\0y' } } as const
    await world.notices.announce([spoilt])

    assert.equal((await noticesOf(world, accountId)).length, 1)
    await world.close()
  })
}

function noticesOfStates({ it }: Suite, newWorld: NewWorld): void {
  for (const [name, drive] of Object.entries(TRANSITIONS)) {
    it(`notifies in the same commit of the new state of a message: ${name}`, async () => {
      const listened = await listening(newWorld)
      const { world, sender } = listened

      const expected = await drive(listened)

      const notices = await noticesOf(world, sender.accountId)
      const changes = notices.map((notice) => JSON.parse(notice.data) as Record<string, unknown>)
      assert.deepEqual(
        notices.map(({ kind }) => kind),
        expected.map((state) => `message.${state.toLowerCase()}`),
      )
      assert.deepEqual(
        changes.map(({ state }) => state),
        expected,
      )
      // The last notification of each message has the same data as the message.
      const last = new Map(changes.map((data) => [data['messageId'] as MessageId, data]))
      assert.ok(last.size > 0)
      for (const [id, data] of last) {
        const { message, resendOf } = await world.administration.explainMessage(id)
        assert.equal(message.state, data['state'])
        assert.equal(message.to, data['to'])
        assert.equal(message.acceptedAt, data['acceptedAt'])
        assert.equal(message.attempts, data['attempts'])
        assert.equal(message.reason ?? null, data['reason'])
        assert.equal(resendOf, data['resendOf'])
        assert.ok(!JSON.stringify(data).includes('Hello'))
      }
      await world.close()
    })
  }
}

function nothingTooMuch({ it }: Suite, newWorld: NewWorld): void {
  it('stores nothing for accounts that want no notifications, and stops when an account no longer wants any', async () => {
    const listened = await listening(newWorld, ['message.failed'])
    const { world, sender } = listened
    const silent = await addSender(world, { number: '15550001001' })
    await publishOne({ ...listened, sender: silent })
    await publishOne(listened)

    await dropOne(listened)
    await want(world, sender.accountId, [])
    await dropOne(listened)

    assert.deepEqual(
      (await noticesOf(world, sender.accountId)).map(({ kind }) => kind),
      ['message.failed'],
    )
    assert.deepEqual(await noticesOf(world, silent.accountId), [])
    await world.close()
  })

  it('G6: stores nothing for a step that came too late', async () => {
    const { world, sender } = await listening(newWorld)
    await accept(world, sender)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)

    const late = { ...lane, epoch: lane.epoch - 1 }
    await world.lanes.record(step(world, late, settle(world, message, { as: 'PUBLISHED' })))

    assert.deepEqual(await noticesOf(world, sender.accountId), [])
    await world.close()
  })

  it('stores nothing for a failed commit', async () => {
    const { world, sender } = await listening(newWorld)
    await accept(world, sender)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const release = await world.fillDisk()

    const failed = await world.lanes
      .record(step(world, lane, settle(world, message, { as: 'PUBLISHED' })))
      .catch(() => null)
    await release()

    const state = await stateOf(world, message.id)
    assert.equal((await noticesOf(world, sender.accountId)).length, state === 'PUBLISHED' ? 1 : 0)
    if (failed === null) assert.equal(state, 'SENDING')
    await world.close()
  })
}

interface Listened {
  readonly world: StorageWorld
  readonly sender: Sender
}

/** Each drives messages to their states in one of the possible ways, and returns the states in order. */
const TRANSITIONS: Readonly<Record<string, (given: Listened) => Promise<readonly SettledState[]>>> = {
  'an attempt is settled': async (given) => {
    await publishOne(given)
    return ['PUBLISHED']
  },
  'an attempt is refused': async (given) => {
    await settleOne(given, 'FAILED', 'recipient_refused')
    return ['FAILED']
  },
  'an attempt has an unknown result': async (given) => {
    await settleOne(given, 'UNCONFIRMED', 'result_unknown')
    return ['UNCONFIRMED']
  },
  'many lanes settle in one turn': async ({ world, sender }) => {
    const lanes: [ClaimedLane, QueuedMessage][] = []
    for (let at = 0; at < 4; at++) {
      const number = `1555000200${at}`
      const connectionId = await addConnection(world, sender.accountId, { number })
      await accept(world, { ...sender, connectionId, number })
      await accept(world, { ...sender, connectionId, number })
      const lane = await holdLane(world, ANNA, connectionId)
      const message = await head(world, connectionId)
      await open(world, lane, message)
      lanes.push([lane, message])
    }
    await Promise.all(
      lanes.map(([lane, message], at) =>
        world.lanes.record(
          step(world, lane, {
            ...settle(world, message, { as: at % 2 === 0 ? 'PUBLISHED' : 'FAILED' }),
            start: at === 0 ? { sequence: message.sequence + 1_000_000, number: 1 } : null,
          }),
        ),
      ),
    )
    const notices = await noticesOf(world, sender.accountId)
    return notices.map(({ kind }) => (kind === 'message.failed' ? 'FAILED' : 'PUBLISHED')).length === 4
      ? notices.map(({ kind }) => (kind === 'message.failed' ? 'FAILED' : 'PUBLISHED'))
      : []
  },
  'it is dropped before its turn': async (given) => {
    await dropOne(given)
    return ['FAILED']
  },
  'its connection was removed while it was tried': async (given) => {
    await orphan(given, 'rejected')
    return ['CANCELLED']
  },
  'its connection was removed while it was tried and may have arrived': async (given) => {
    await orphan(given, 'unknown')
    return ['UNCONFIRMED']
  },
  'its time to live is over': async ({ world, sender }) => {
    await accept(world, sender)
    await world.clock.pass(25 * 3_600_000)
    assert.equal(await world.lanes.expire(10), 1)
    return ['EXPIRED']
  },
  'its time to live is over after an attempt with an unknown result': async (given) => {
    const { world } = given
    await keepAfter(given, 'unknown')
    await world.clock.pass(25 * 3_600_000)
    assert.equal(await world.lanes.expire(10), 1)
    return ['UNCONFIRMED']
  },
  'the network reports delivery and reading': async (given) => {
    const id = await publishOne(given)
    await bring(given, id, 'delivered')
    await bring(given, id, 'delivered')
    await bring(given, id, 'read')
    return ['PUBLISHED', 'DELIVERED', 'READ']
  },
  'the network reports a failure': async (given) => {
    const id = await publishOne(given)
    await bring(given, id, 'failed')
    return ['PUBLISHED', 'FAILED']
  },
  'the network reports delivery of what had failed': async (given) => {
    const id = await settleOne(given, 'FAILED', 'recipient_refused')
    await bring(given, id, 'delivered')
    return ['FAILED', 'PUBLISHED']
  },
  'a contrary report is kept and changes nothing': async (given) => {
    const id = await publishOne(given)
    await bring(given, id, 'read')
    await bring(given, id, 'failed')
    return ['PUBLISHED', 'READ']
  },
  'a person cancels it': async ({ world, sender }) => {
    const id = await accept(world, sender)
    await world.administration.cancelMessage(id, 'test')
    return ['CANCELLED']
  },
  'a person cancels it after an attempt with an unknown result': async (given) => {
    const id = await keepAfter(given, 'unknown')
    await given.world.administration.cancelMessage(id, 'test')
    return ['UNCONFIRMED']
  },
  'a person cancels a lane': async ({ world, sender }) => {
    for (let at = 0; at < 3; at++) await accept(world, sender)
    const lanes = createLaneViews(world.store)
    await lanes.cancelWaiting({ accountId: sender.accountId, id: sender.connectionId }, null, 'test')
    return ['CANCELLED', 'CANCELLED', 'CANCELLED']
  },
  'its connection is removed': async ({ world, sender }) => {
    for (let at = 0; at < 2; at++) await accept(world, sender)
    await world.administration.removeConnection(sender.connectionId, true, 'test')
    return ['CANCELLED', 'CANCELLED']
  },
  'a person says that it arrived': async (given) => {
    const id = await settleOne(given, 'UNCONFIRMED', 'result_unknown')
    await given.world.administration.resolveMessage(id, 'arrived', 'test')
    return ['UNCONFIRMED', 'PUBLISHED']
  },
  'a person sends it again': async (given) => {
    const id = await settleOne(given, 'UNCONFIRMED', 'result_unknown')
    await given.world.administration.resolveMessage(id, 'send-again', 'test')
    await finishHead(given, 'PUBLISHED', null)
    return ['UNCONFIRMED', 'PUBLISHED']
  },
  'a person retries it': async (given) => {
    const id = await settleOne(given, 'FAILED', 'recipient_refused')
    await given.world.administration.retryMessage(id, 'test')
    await finishHead(given, 'PUBLISHED', null)
    return ['FAILED', 'PUBLISHED']
  },
  'a channel sends it again': async (given) => {
    const { world, sender } = given
    const messageId = await settleOne(given, 'FAILED', 'whatsapp_131047')
    await world.sendAgain({ connectionId: sender.connectionId, messageId, reason: 'whatsapp_131047' })
    await finishHead(given, 'PUBLISHED', null)
    return ['FAILED', 'PUBLISHED']
  },
}

async function listening(newWorld: NewWorld, kinds: readonly string[] = NOTIFICATION_KIND_NAMES): Promise<Listened> {
  const world = await newWorld()
  const sender = await addSender(world)
  await want(world, sender.accountId, kinds)
  return { world, sender }
}

/** Sets the wanted kinds, as another process would. All others are unwanted. */
async function want({ store: { database } }: StorageWorld, account_id: AccountId, kinds: readonly string[]) {
  await database.deleteFrom('notice_want').where('account_id', '=', account_id).execute()
  if (kinds.length > 0)
    await database
      .insertInto('notice_want')
      .values(kinds.map((kind) => ({ account_id, kind })))
      .execute()
}

function noticesOf({ store: { database } }: StorageWorld, accountId: AccountId) {
  return database
    .selectFrom('notice')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('kind', 'like', 'message.%'), where('kind', 'like', 'token.%')]))
    .orderBy('position')
    .execute()
}

function announce({ notices, clock }: StorageWorld, accountId: AccountId, ...keys: readonly string[]): Promise<void> {
  const at = clock.now()
  return notices.announce(
    keys.map((key): NewNotification => ({ accountId, kind: 'token.expired', at, key, data: { name: 'ü"\\' } })),
  )
}

function settle(
  world: StorageWorld,
  message: QueuedMessage,
  { as, reason = null }: { readonly as: SettledState; readonly reason?: ReasonCode | null },
) {
  const outcome = as === 'PUBLISHED' ? 'accepted' : as === 'UNCONFIRMED' ? 'unknown' : 'rejected'
  const disposition = as === 'PUBLISHED' ? AS_PUBLISHED : ({ do: 'finalize', as, reason, words: 'No' } as const)
  return { finish: { attempt: attempt(world, message, outcome), disposition } }
}

async function finishHead(
  { world, sender }: Listened,
  as: SettledState,
  reason: ReasonCode | null,
): Promise<MessageId> {
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  await world.lanes.record(step(world, lane, settle(world, message, { as, reason })))
  await world.lanes.release([lane])
  return message.id
}

async function settleOne(given: Listened, as: SettledState, reason: ReasonCode | null): Promise<MessageId> {
  await accept(given.world, given.sender)
  return finishHead(given, as, reason)
}

function publishOne(given: Listened): Promise<MessageId> {
  return settleOne(given, 'PUBLISHED', null)
}

async function dropOne({ world, sender }: Listened): Promise<void> {
  await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const { sequence } = await head(world, sender.connectionId)
  const drop = { sequence, as: 'FAILED', reason: 'media_status', words: 'No' } as const
  await world.lanes.record(step(world, lane, { discard: drop }))
  await world.lanes.release([lane])
}

/** The head has had an attempt and waits for the next. */
async function keepAfter({ world, sender }: Listened, outcome: 'rejected' | 'unknown'): Promise<MessageId> {
  await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  await world.lanes.record(
    step(world, lane, { finish: { attempt: attempt(world, message, outcome), disposition: KEEP } }),
  )
  await world.lanes.release([lane])
  return message.id
}

async function orphan({ world, sender }: Listened, outcome: 'rejected' | 'unknown'): Promise<void> {
  await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  await world.administration.removeConnection(sender.connectionId, true, 'test')
  await world.lanes.record(
    step(world, lane, { finish: { attempt: attempt(world, message, outcome), disposition: KEEP } }),
  )
}

function bring({ world, sender }: Listened, messageId: MessageId, kind: 'delivered' | 'read' | 'failed') {
  return world.lanes.applyReceipt(
    report(world, { connectionId: sender.connectionId, messageId, kind, code: 'refused_later' }),
  )
}
