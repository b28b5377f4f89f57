import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import type { ConnectionId, SpoolId, WorkerId } from '../../../src/core/ids.ts'
import type { QueuedMessage } from '../../../src/core/message/message.ts'
import type { ClaimedLane, LaneTransitionResult } from '../../../src/core/ports/lanes.ts'
import { newPostgresWorld, type PostgresWorld } from '../../conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addConnection,
  addSender,
  attempt,
  BEN,
  claim,
  head,
  holdLane,
  KEEP,
  open,
  type Sender,
  settled,
  step,
} from '../../conformance/storage-world.ts'

const DAY = 24 * 3_600_000
const HOUR = 3_600_000
// The longest that a request may wait while a period is opened or dropped. A busy machine needs a part of it.
const LONGEST_WAIT_MS = 2_500
const PARTITIONED = ['settled', 'ended_attempt', 'accept_commit', 'request', 'timeline']

describe('a change of the day', () => {
  it('G3: lets two processes accept and send in order past midnight, also when the clock goes back', async () => {
    const { world, session, traffic } = await busyWorld()
    await traffic.passes(20)
    for (const byMs of [DAY, DAY, -DAY, -2 * DAY, 2 * DAY]) {
      await world.setDatabaseClock(byMs)
      // All processes check every minute, and several do so at once.
      await Promise.all([openPeriod(world), openPeriod(world), openPeriod(world)])
      await traffic.passes(20)
    }
    await traffic.end()

    const { rows } = await session.query<{ number: number }>('select number from period order by number')
    // Only a new day opens a period.
    assert.deepEqual(
      rows.map(({ number }) => number),
      [0, 1, 2, 3],
    )
    assert.deepEqual(traffic.failures, [])
    assert.equal(traffic.unordered, 0)
    const { rows: used } = await session.query<{ period: number; count: number }>(
      'select (sequence >> 40)::integer as period, count(*)::integer as count from message group by 1 order by 1',
    )
    assert.deepEqual(
      used.map(({ period }) => period),
      [1, 2, 3],
    )
    assert.equal(
      used.reduce((sum, { count }) => sum + count, 0),
      traffic.accepted,
    )
  })
})

describe('a dropped day', () => {
  it('is removed completely, while processes accept and send and hardly wait', async () => {
    const { world, session, traffic, sender } = await busyWorld()
    await accept(world, sender, { media: true, key: 'first' })
    await traffic.passes(20)
    await traffic.empty()
    await fill(session, 1, 100_000)
    await nextDay(world)
    await traffic.passes(20)
    const before = traffic.longestWaitMs

    const began = performance.now()
    const isDropped = await dropPeriod(session, 1)
    const tookMs = performance.now() - began
    await traffic.passes(20)
    await traffic.end()

    assert.equal(isDropped, true)
    assert.deepEqual(await leftOf(session, 1), { partitions: 0, media: 0, idempotency: 0, period: 0 })
    assert.deepEqual(traffic.failures, [])
    assert.equal(traffic.unordered, 0)
    const said = `it took ${tookMs} ms; the longest wait was ${traffic.longestWaitMs} ms, and ${before} ms before`
    assert.ok(traffic.longestWaitMs < Math.max(LONGEST_WAIT_MS, 2 * before), said)
  })

  it('is never the current one, one that has just ended, or one that does not exist', async () => {
    const world = await opened()
    const session = await world.session()
    const current = await dropPeriod(session, 1)
    await world.setDatabaseClock(DAY)
    await openPeriod(world)
    const justEnded = await dropPeriod(session, 1)
    await world.setDatabaseClock(HOUR)
    const unknown = await dropPeriod(session, 7)

    assert.deepEqual([current, justEnded, unknown], [false, false, false])
    assert.equal(await dropPeriod(session, 1), true)
  })

  it('has no unfinished message: none that waits, is being handed over, or waits for evidence', async () => {
    const world = await opened()
    const session = await world.session()
    const sender = await addSender(world)
    await accept(world, sender)
    await nextDay(world)
    const answers: boolean[] = [await dropPeriod(session, 1)]
    const lane = await holdLane(world, BEN, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    answers.push(await dropPeriod(session, 1))
    const until = world.clock.now() + HOUR
    const waiting = { do: 'await-evidence', until, words: 'gone' } as const
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message, 'unknown'), disposition: waiting } }),
    )
    answers.push(await dropPeriod(session, 1))
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message, 'rejected'), disposition: KEEP } }),
    )
    answers.push(await dropPeriod(session, 1))
    const again = await head(world, sender.connectionId)
    await open(world, lane, again)
    await world.lanes.record(step(world, lane, { finish: settled(world, again) }))

    assert.deepEqual(answers, [false, false, false, false])
    assert.equal(again.sequence, message.sequence)
    assert.equal(await dropPeriod(session, 1), true)
  })

  it('is not dropped during a long read, and no request waits for it', async () => {
    const { session, world, traffic } = await busyWorld()
    await traffic.passes(5)
    await traffic.empty()
    await nextDay(world)
    const reader = await world.session()
    await reader.query('begin; select count(*) from settled')
    const before = traffic.longestWaitMs

    const thrown = await dropPeriod(session, 1).catch((error: unknown) => error)
    await traffic.passes(20)
    await reader.query('rollback')

    assert.equal((thrown as { code?: string }).code, '55P03')
    assert.deepEqual(traffic.failures, [])
    assert.ok(traffic.longestWaitMs < Math.max(LONGEST_WAIT_MS, 2 * before), `${traffic.longestWaitMs} ms`)
    assert.equal((await leftOf(session, 1))['partitions'], PARTITIONED.length)
    await traffic.end()
    assert.equal(await dropPeriod(session, 1), true)
  })
})

async function opened(): Promise<PostgresWorld> {
  const world = await newPostgresWorld()
  onTestFinished(() => world.close())
  // The periods were opened by real time, before the world's clock was installed.
  await (await world.session()).query('update period set starts_at = now_ms()')
  return world
}

async function busyWorld() {
  const world = await opened()
  const session = await world.session()
  const sender = await addSender(world)
  const other = { ...sender, number: '15550001001' }
  const otherConnection = await addConnection(world, sender.accountId, { number: other.number })
  const ben = { ...world, ...processOf(world) }
  const traffic = new Traffic()
  traffic.start(world, sender, ANNA)
  traffic.start(ben, { ...other, connectionId: otherConnection }, BEN)
  return { world, session, sender, traffic }
}

function processOf(world: PostgresWorld) {
  const { lanes, intake } = world.processOf(BEN, 'spool of ben' as SpoolId)
  return { lanes, intake }
}

/** Each process accepts for its lane and sends what it has accepted. */
class Traffic {
  readonly failures: unknown[] = []
  accepted = 0
  unordered = 0
  longestWaitMs = 0
  #passed = new Map<WorkerId, number>()
  #isAccepting = true
  #isEnding = false
  #isEmpty = new Map<WorkerId, boolean>()
  readonly #running: Promise<void>[] = []

  start(world: PostgresWorld, sender: Sender, worker: WorkerId): void {
    this.#passed.set(worker, 0)
    this.#running.push(this.#run(world, sender, worker).catch((error: unknown) => void this.failures.push(error)))
  }

  /** Resolves when each process has accepted and sent this many more messages. */
  async passes(count: number): Promise<void> {
    this.#isAccepting = true
    const from = new Map(this.#passed)
    await this.#until(() => [...this.#passed].every(([worker, passed]) => passed >= (from.get(worker) ?? 0) + count))
  }

  /** Resolves when nothing waits any more. Accepting stops until the next `passes`. */
  async empty(): Promise<void> {
    this.#isAccepting = false
    this.#isEmpty.clear()
    await this.#until(() => this.#isEmpty.size === this.#passed.size)
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await Promise.all(this.#running)
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds() && this.failures.length === 0) await pause(2)
  }

  async #run(world: PostgresWorld, sender: Sender, worker: WorkerId): Promise<void> {
    let last = 0
    while (!this.#isEnding) {
      if (this.#isAccepting) {
        await this.#time(() => Promise.all([accept(world, sender), accept(world, sender)]))
        this.accepted += 2
      }
      const run = await this.#time(() => world.lanes.fetchNext(sender.connectionId, 10, 0))
      if (run.length === 0 && !this.#isAccepting) {
        this.#isEmpty.set(worker, true)
        await pause(2)
      }
      for (const message of run) {
        if (message.sequence <= last) this.unordered += 1
        last = message.sequence
        await this.#time(async () => send(world, await claimAnew(world, sender.connectionId, worker), message))
        this.#passed.set(worker, (this.#passed.get(worker) ?? 0) + 1)
      }
    }
  }

  async #time<Result>(work: () => Promise<Result>): Promise<Result> {
    const began = performance.now()
    const result = await work()
    this.longestWaitMs = Math.max(this.longestWaitMs, performance.now() - began)
    return result
  }
}

async function send(world: PostgresWorld, lane: ClaimedLane, message: QueuedMessage): Promise<LaneTransitionResult> {
  await open(world, lane, message)
  return world.lanes.record(step(world, lane, { finish: settled(world, message) }))
}

/** Claims the lane again, because the claim may have expired when the clock jumped. */
async function claimAnew(world: PostgresWorld, id: ConnectionId, worker: WorkerId): Promise<ClaimedLane> {
  await world.lanes.heartbeat(worker, 15_000)
  const [lane] = await claim(world, worker, [id])
  if (!lane) throw new Error('the lane could not be claimed')
  return lane
}

async function openPeriod(world: PostgresWorld): Promise<void> {
  const session = await world.session()
  await session.query('select open_period()')
}

async function nextDay(world: PostgresWorld): Promise<void> {
  await world.setDatabaseClock(DAY)
  await openPeriod(world)
  await world.setDatabaseClock(2 * HOUR)
}

async function dropPeriod(session: Client, period: number): Promise<boolean> {
  const { rows } = await session.query<{ is: boolean }>('select drop_period($1) as is', [period])
  return rows[0]!.is
}

async function fill(session: Client, period: number, count: number): Promise<void> {
  await session.query(
    `insert into settled (sequence, id, account_id, connection_id, body, body_crc, recipient, type, state, attempts, accepted_at, settled_at)
       select (${period}::bigint << 40) + 100000000 + i, 'old' || i, 'acc', 'con', '{}', 1, 'to', 'message', 'READ', 1, 1, 1
         from generate_series(1, ${count}) i`,
  )
}

/** Counts what is left of a period. */
async function leftOf(session: Client, period: number): Promise<Record<string, number>> {
  const isOf = (column: string) => `${column} >> 40 = ${period}`
  const { rows } = await session.query<Record<string, number>>(
    `select (select count(*)::integer from pg_class where relname = any ($1)) as partitions,
       (select count(*)::integer from media where ${isOf('message_sequence')}) as media,
       (select count(*)::integer from idempotency where ${isOf('message_sequence')}) as idempotency,
       (select count(*)::integer from period where number = ${period}) as period`,
    [PARTITIONED.map((table) => `${table}_p${period}`)],
  )
  return rows[0]!
}
