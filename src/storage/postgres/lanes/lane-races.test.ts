import assert from 'node:assert/strict'
import type { Client } from 'pg'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addConnection,
  addSender,
  attempt,
  BEN,
  beat,
  claim,
  head,
  holdLane,
  KEEP,
  open,
  settled,
  stateOf,
  step,
} from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { ConnectionId, MessageId, SpoolId, WorkerId } from '../../../core/ids.ts'
import type { QueuedMessage } from '../../../core/message/message.ts'
import type { ClaimedLane } from '../../../core/ports/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'

const CARL = 'carl' as WorkerId
const SPOOL = 'spool' as SpoolId
const DEADLINE = { deadlineMs: 10_000, everyMs: 3 }
const OPENED = { fenced: false, started: true }
const NOT_OPENED = { fenced: false, started: false }
const FENCED = { fenced: true }

// Each of these stops one of two who meet half-way, with its locks held, and lets the other one come.
describe('lanes on PostgreSQL, when two meet', () => {
  it('G4: cancels nothing that was opened a moment before', async () => {
    const { world, lane, message, id } = await heldLane()
    const opener = await begin(world, openStatement(lane, message))

    const cancelled = world.administration.cancelMessage(id, 'test')
    const outcome = cancelled.then(
      () => 'cancelled',
      (error: unknown) => error instanceof Refusal && error.code,
    )
    await untilBlocked(world, 'administration')
    await opener.query('commit')

    assert.equal(await outcome, 'message_not_waiting')
    assert.equal(await stateOf(world, id), 'SENDING')
    await world.close()
  })

  it.each([
    ['commits', NOT_OPENED, 'CANCELLED'],
    ['rolls back', OPENED, 'SENDING'],
  ])('G4: waits with opening for a cancellation that %s', async (what, expected, state) => {
    const { world, lane, message, id } = await heldLane()
    const canceller = await begin(world, `update message set state = 'CANCELLED' where id = '${id}'`)

    const opened = open(world, lane, message)
    await untilTried(world)
    await canceller.query(what === 'commits' ? 'commit' : 'rollback')

    assert.deepEqual(await opened, expected)
    assert.equal(await stateOf(world, id), state)
    await world.close()
  })

  it('blocks no other lane while the first message of one is cancelled', async () => {
    const { world, sender, lane, message, id } = await heldLane()
    const other = await addSender(world, { number: '15550002000' })
    await accept(world, other)
    const others = await holdLane(world, ANNA, other.connectionId)
    const first = await head(world, other.connectionId)
    const canceller = await begin(world, `update message set state = 'CANCELLED' where id = '${id}'`)

    // Both in one batch.
    const opened = open(world, lane, message)
    const result = await open(world, others, first)
    const meanwhile = await Promise.race([opened, Promise.resolve('waits')])
    await canceller.query('commit')

    assert.deepEqual(result, OPENED)
    assert.equal(meanwhile, 'waits')
    assert.deepEqual(await opened, NOT_OPENED)
    assert.equal((await world.lanes.fetchNext(sender.connectionId, 1, 0)).length, 0)
    await world.close()
  })

  it('discards no message that is being cancelled, and waits apart from other lanes', async () => {
    const { world, lane, message, id } = await heldLane()
    const canceller = await begin(world, `update message set state = 'CANCELLED' where id = '${id}'`)
    const drop = { sequence: message.sequence, as: 'EXPIRED', reason: 'time_to_live_over', words: null } as const

    const dropped = world.lanes.record(step(world, lane, { discard: drop }))
    await untilTried(world)
    await canceller.query('commit')

    assert.deepEqual(await dropped, NOT_OPENED)
    assert.equal(await stateOf(world, id), 'CANCELLED')
    await world.close()
  })

  it('G2: makes either an end or an attempt of each message, when many are cancelled and opened at once', async () => {
    const world = await newPostgresWorld()
    await manyLanes(world, 16)
    await beat(world, ANNA)
    const lanes = await Promise.all(
      (await claim(world, ANNA)).map(async (lane) => ({ lane, message: await head(world, lane.connectionId) })),
    )

    const outcomes = await Promise.all(
      lanes.map(async ({ lane, message }, i) => {
        const { id } = message
        const cancel = () =>
          world.administration.cancelMessage(id, 'test').then(
            () => true,
            () => false,
          )
        const begun = async () => (await open(world, lane, message)) as { opened?: boolean }
        const [cancelled, opened] = await (i % 2 ? Promise.all([cancel(), begun()]) : swapped(begun(), cancel()))
        return { cancelled, opened: opened.opened, state: await stateOf(world, id) }
      }),
    )

    for (const { cancelled, opened, state } of outcomes) {
      assert.notEqual(cancelled, opened)
      assert.equal(state, cancelled ? 'CANCELLED' : 'SENDING')
    }
    await world.close()
  })

  it('expires nothing that was opened a moment before', async () => {
    const { world, lane, message, id } = await heldLane({ timeToLiveMs: 60_000 })
    await world.clock.pass(60_000)
    const opener = await begin(world, openStatement(lane, message))

    const expired = await world.lanes.expire(10)
    await opener.query('commit')

    assert.equal(expired, 0)
    assert.equal(await stateOf(world, id), 'SENDING')
    await world.close()
  })

  it('opens nothing that expires just now', async () => {
    const { world, lane, message, id } = await heldLane({ timeToLiveMs: 60_000 })
    await world.clock.pass(60_000)
    const sweeper = await begin(world, 'select expire_messages(10, 60000)')

    const opened = open(world, lane, message)
    await untilTried(world)
    await sweeper.query('commit')

    assert.deepEqual(await opened, NOT_OPENED)
    assert.equal(await stateOf(world, id), 'EXPIRED')
    await world.close()
  })

  it('G6: claims nothing of a lane while a late worker opens in it, and finds the attempt after', async () => {
    const { world, sender, lane, message } = await heldLane()
    await world.clock.pass(15_000)
    const late = await begin(world, openStatement(lane, message))

    await beat(world, BEN)
    const meanwhile = await claim(world, BEN)
    await late.query('commit')
    const [his] = await claim(world, BEN, [sender.connectionId])

    assert.deepEqual(meanwhile, [])
    assert.deepEqual([his?.open?.message.sequence, his?.open?.crashes], [message.sequence, 1])
    await world.close()
  })

  it.each(['opens', 'ends one and opens the next'])(
    'G6: fences a late worker that %s, once the claim of another is there',
    async (what) => {
      const { world, sender, lane, message } = await heldLane()
      const next = await acceptNext(world, sender)
      if (what !== 'opens') await open(world, lane, message)
      await world.clock.pass(15_000)
      const claimant = await begin(
        world,
        `select from claim_lanes('${BEN}', array['${lane.connectionId}'], null, false)`,
      )

      const late =
        what === 'opens'
          ? open(world, lane, message)
          : world.lanes.record(
              step(world, lane, { finish: settled(world, message), start: { sequence: next.sequence, number: 1 } }),
            )
      await untilTried(world)
      await claimant.query('commit')

      assert.deepEqual(await late, FENCED)
      assert.equal((await world.lanes.fetchNext(sender.connectionId, 1, 0))[0]?.sequence, message.sequence)
      await world.close()
    },
  )

  it('G2: gives each lane to one of two processes that claim all of them at once', async () => {
    const world = await newPostgresWorld()
    const all = (await manyLanes(world, 24)).map(({ connectionId }) => connectionId)
    const processes = [world.storage, world.processOf(BEN, SPOOL)]
    await Promise.all([processes[0]!.lanes.heartbeat(ANNA, 15_000), processes[1]!.lanes.heartbeat(BEN, 15_000)])
    const everything = { only: null, held: new Set<ConnectionId>(), shouldDefer: () => false, limit: 100 }

    const claims = await Promise.all([
      processes[0]!.lanes.claim({ ...everything, worker: ANNA }),
      processes[1]!.lanes.claim({ ...everything, worker: BEN }),
    ])

    const claimed = claims.flat().map(({ connectionId }) => connectionId)
    assert.deepEqual(claimed.toSorted(), all.toSorted())
    await world.close()
  })

  it('G6: takes no lane from a worker that came up while its claimant waited', async () => {
    const { world, sender } = await waiting()
    const insert = `insert into lane (connection_id, account_id) values ('${sender.connectionId}', '${sender.accountId}')`
    const carls = await begin(world, insert)
    await beat(world, BEN)

    const bens = claim(world, BEN, [sender.connectionId])
    await untilBlocked(world, 'claims')
    await carls.query(`insert into worker (id, heartbeat_until) values ('${CARL}', now_ms() + 15000)`)
    await carls.query(`update lane set owner = '${CARL}', epoch = 1`)
    await carls.query('commit')

    assert.deepEqual(await bens, [])
    await world.close()
  })

  it.each([
    ['leaves nothing waiting on a connection that is removed while an attempt ends', true, 'CANCELLED'],
    ['would leave it waiting if the removal had not locked what waits', false, 'QUEUED'],
  ])('%s', async (_, locks, state) => {
    const { world, sender, lane, message, id } = await heldLane()
    await open(world, lane, message)
    const close = { attempt: attempt(world, message, 'rejected'), disposition: KEEP }

    const remover = await begin(world, removeStatement(sender.connectionId, locks))
    const closed = world.lanes.record(step(world, lane, { finish: close }))
    await (locks ? untilTried(world) : closed)
    await remover.query('commit')

    assert.deepEqual(await closed, NOT_OPENED)
    assert.equal(await stateOf(world, id), state)
    await world.close()
  })

  it('leaves nothing waiting on a connection that is removed just after an attempt has ended', async () => {
    const { world, sender, lane, message, id } = await heldLane()
    await open(world, lane, message)
    const ending = await begin(world, keepStatement(lane, message))

    const removed = world.administration.removeConnection(sender.connectionId, true, 'test')
    await untilBlocked(world, 'administration')
    await ending.query('commit')
    await removed

    assert.equal(await stateOf(world, id), 'CANCELLED')
    await world.close()
  })

  it('opens nothing on a connection whose removal comes first', async () => {
    const { world, sender, lane, message } = await heldLane()
    const remover = await begin(world, removeStatement(sender.connectionId))

    const opened = open(world, lane, message)
    await untilTried(world)
    await remover.query('commit')

    assert.deepEqual(await opened, NOT_OPENED)
    await world.close()
  })

  it('records reports of one message in an order of their own, whatever else is recorded for it meanwhile', async () => {
    const { world, sender, lane, message, id } = await heldLane()
    await open(world, lane, message)
    await world.lanes.record(step(world, lane, { finish: settled(world, message) }))
    const teller = await begin(
      world,
      `insert into timeline (message_sequence, position, at, kind) values (${message.sequence}, 1, 1, 'resolved')`,
    )

    const about = { connectionId: sender.connectionId, messageId: id, attemptNumber: null, networkId: null }
    const applied = world.lanes.applyReceipt({ ...about, kind: 'delivered', at: 2, code: null, words: null })
    await untilBlocked(world, 'claims')
    await teller.query('commit')

    assert.equal(await applied, 'applied')
    const session = await world.session()
    const { rows } = await session.query('select position, kind from timeline order by position')
    assert.deepEqual(rows, [
      { position: 1, kind: 'resolved' },
      { position: 2, kind: 'receipt-delivered' },
    ])
    assert.equal(await stateOf(world, id), 'DELIVERED')
    assert.equal((await world.lanes.fetchNext(sender.connectionId, 1, 0)).length, 0)
    await world.close()
  })
})

async function waiting(policy = {}) {
  const world = await newPostgresWorld()
  const sender = await addSender(world, { policy })
  return { world, sender, id: await accept(world, sender) }
}

async function heldLane(policy = {}): Promise<{
  world: PostgresWorld
  sender: Awaited<ReturnType<typeof addSender>>
  id: MessageId
  lane: ClaimedLane
  message: QueuedMessage
}> {
  const { world, sender, id } = await waiting(policy)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  return { world, sender, id, lane, message: await head(world, sender.connectionId) }
}

/** Connections with one message each. */
async function manyLanes(world: PostgresWorld, count: number) {
  const { accountId, ...sender } = await addSender(world)
  await accept(world, { accountId, ...sender })
  const senders = [{ connectionId: sender.connectionId }]
  for (let i = 1; i < count; i++) {
    const number = `1555100${1000 + i}`
    const connectionId = await addConnection(world, accountId, { number })
    await accept(world, { ...sender, accountId, number })
    senders.push({ connectionId })
  }
  return senders
}

async function acceptNext(world: PostgresWorld, sender: Awaited<ReturnType<typeof addSender>>) {
  await accept(world, sender, { text: 'next' })
  const [, next] = await world.lanes.fetchNext(sender.connectionId, 2, 0)
  return next!
}

async function swapped<A, B>(first: Promise<A>, second: Promise<B>): Promise<[B, A]> {
  const [a, b] = await Promise.all([first, second])
  return [b, a]
}

/** A session that has done this and not yet committed. */
async function begin(world: PostgresWorld, statement: string): Promise<Client> {
  const session = await world.session()
  await session.query('begin')
  await session.query(statement)
  return session
}

function openStatement(lane: ClaimedLane, { sequence }: QueuedMessage): string {
  return stepStatement(lane, `open_sequences => '{${sequence}}', open_numbers => '{1}'`)
}

function keepStatement(lane: ClaimedLane, { sequence }: QueuedMessage): string {
  return stepStatement(
    lane,
    `ends => '{2}', close_sequences => '{${sequence}}', close_numbers => '{1}', started_ats => '{1}', ended_ats => '{1}',
      outcomes => '{rejected}', codes => '{busy}', is_plain => '{false}'`,
  )
}

function stepStatement({ connectionId, accountId, epoch }: ClaimedLane, what: string): string {
  return `select write_steps('late', 9, 1, 1000, false, '{${connectionId}}', '{${accountId}}', '{${epoch}}', '{1}', ${what})`
}

/** As administration does it. */
function removeStatement(id: ConnectionId, locks = true): string {
  const lock = `select from queued where connection_id = '${id}' order by sequence desc for update;`
  return `${locks ? lock : ''} update connection set state = 'removed', removed_at = 1 where id = '${id}'`
}

function untilBlocked(world: PostgresWorld, who: string): Promise<boolean> {
  return untilAny(world, `application_name = 'nuncio ${who}' and wait_event_type = 'Lock'`)
}

/** Until a step waits for a lock, or has given that up and will be tried again. */
function untilTried(world: PostgresWorld): Promise<boolean> {
  return untilAny(
    world,
    `application_name = 'nuncio steps' and query like '%write_steps(%' and (wait_event_type = 'Lock' or state = 'idle')
       and query_start > (select max(xact_start) from pg_stat_activity where datname = current_database() and state = 'idle in transaction')`,
  )
}

async function untilAny(world: PostgresWorld, condition: string): Promise<boolean> {
  const session = await world.session()
  const statement = `select from pg_stat_activity where datname = current_database() and ${condition}`
  return waitUntil(condition, async () => (await session.query(statement)).rowCount !== 0, DEADLINE)
}
