import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addConnection,
  addSender,
  BEN,
  settled,
  step,
} from '../../../../test/conformance/storage-world.ts'
import type { ConnectionId, SpoolId, WorkerId } from '../../../core/ids.ts'
import type { QueuedMessage } from '../../../core/message/message.ts'
import type { ClaimedLane, Lanes, LaneTransition } from '../../../core/ports/lanes.ts'

const WORKERS = [ANNA, BEN, 'carl' as WorkerId]
const LANES = 8
const MESSAGES = 30
const TAKEOVERS = 20
const LASTS_MS = 15_000

// Three workers that take the same lanes from each other again and again, and none of which ever believes that a lane is
// no longer its own until it gets a refusal that says so.
describe('lanes on PostgreSQL, which several workers believe to be theirs', () => {
  it('G2, G6: never have two open attempts or two owners', async () => {
    const world = await newPostgresWorld()

    const { violations, fenced } = await storm(world)

    assert.deepEqual(violations, [])
    assert.ok(fenced > 0, 'no worker was late')
    await world.close()
  })

  it('would have two owners if steps did not compare the epoch', async () => {
    const world = await newPostgresWorld()
    await dropFence(world)

    const { violations } = await storm(world)

    assert.ok(violations.length > 0)
    await world.close()
  })
})

async function storm(world: PostgresWorld): Promise<{ violations: readonly string[]; fenced: number }> {
  const referee = new Referee()
  const total = await fill(world)
  const processes = WORKERS.map((worker) => ({ worker, lanes: world.processOf(worker, 'spool' as SpoolId).lanes }))
  const running: Promise<void>[] = []
  let wake = () => {}
  for (let turn = 0; turn < TAKEOVERS || (await referee.isUnfinished(world, total)); turn++) {
    assert.ok(turn < 10 * TAKEOVERS, 'the lanes do not come to an end')
    // Everybody's heartbeat has run out by now.
    await world.clock.pass(LASTS_MS + 1)
    const { worker, lanes } = processes[turn % processes.length]!
    await lanes.heartbeat(worker, LASTS_MS)
    const claimed = await lanes.claim({ worker, only: null, held: NONE, shouldDefer: () => false, limit: 100 })
    wake()
    const sleep = Promise.withResolvers<void>()
    wake = sleep.resolve
    for (const [i, lane] of claimed.entries()) {
      referee.claimed(lane)
      // One of them stands still from now until the next one has taken its lane: so one worker is late, however the
      // machine deals out its time.
      const until = turn < TAKEOVERS && i === turn % claimed.length ? sleep.promise : null
      running.push(drive(world, lanes, { lane, referee, until }))
    }
    // The next one comes while these are in the middle of it.
    await Promise.race([Promise.all(running), new Promise((resolve) => setTimeout(resolve, 8))])
  }
  wake()
  await Promise.all(running)
  await referee.check(world, total)
  return { violations: referee.violations, fenced: referee.fenced }
}

const NONE = new Set<ConnectionId>()

async function fill(world: PostgresWorld): Promise<number> {
  const sender = await addSender(world)
  for (let i = 0; i < LANES; i++) {
    const number = `1555100${1000 + i}`
    await addConnection(world, sender.accountId, { number })
    for (let k = 0; k < MESSAGES; k++) await accept(world, { ...sender, number })
  }
  return LANES * MESSAGES
}

interface Driven {
  readonly lane: ClaimedLane
  readonly referee: Referee
  /** Before its first step. */
  readonly until: Promise<void> | null
}

/** Sends one message after the other, until it is fenced or there are no more. */
async function drive(world: PostgresWorld, lanes: Lanes, { lane, referee, until }: Driven): Promise<void> {
  const record = async (does: Partial<LaneTransition>) => {
    const before = referee.begin(lane)
    return referee.end(lane, before, await lanes.record(step(world, lane, does)))
  }
  let close: LaneTransition['finish'] = lane.open && settled(world, lane.open.message)
  for (;;) {
    const [first, second] = await lanes.fetchNext(lane.connectionId, 2, 0)
    const next = first?.sequence === close?.attempt.sequence ? second : first
    if (!close && !next) return
    const open = next ? { sequence: next.sequence, number: next.attempts + 1 } : null
    await until
    const result = await record({ finish: close, start: open })
    if (result.fenced) return
    if (close) referee.settled(close.attempt.sequence)
    if (result.started && next) referee.opened(lane, next)
    close = result.started && next ? settled(world, next) : null
  }
}

/** Receives what the workers get, and notes what must not be. */
class Referee {
  readonly violations: string[] = []
  fenced = 0
  readonly #epochs = new Map<ConnectionId, number>()
  readonly #open = new Map<ConnectionId, number>()
  readonly #settled = new Set<number>()

  claimed({ connectionId, epoch, open }: ClaimedLane): void {
    if (epoch <= (this.#epochs.get(connectionId) ?? 0)) this.violations.push(`epoch ${epoch} was given out twice`)
    this.#epochs.set(connectionId, epoch)
    this.#open.delete(connectionId)
    if (open) this.#open.set(connectionId, open.message.sequence)
  }

  begin({ connectionId }: ClaimedLane): number {
    return this.#epochs.get(connectionId) ?? 0
  }

  end<Result extends { readonly fenced: boolean }>(lane: ClaimedLane, newestBefore: number, result: Result): Result {
    if (result.fenced) this.fenced += 1
    // A worker that began before the takeover was reported may have come first.
    else if (newestBefore > lane.epoch) this.violations.push(`${lane.epoch} wrote after ${newestBefore} had the lane`)
    return result
  }

  settled(sequence: number): void {
    if (this.#settled.has(sequence)) this.violations.push(`${sequence} was settled twice`)
    this.#settled.add(sequence)
  }

  opened({ connectionId, epoch }: ClaimedLane, { sequence }: QueuedMessage): void {
    if (epoch !== this.#epochs.get(connectionId)) return
    const other = this.#open.get(connectionId)
    if (other !== undefined && !this.#settled.has(other)) this.violations.push(`${sequence} was opened beside ${other}`)
    this.#open.set(connectionId, sequence)
  }

  async isUnfinished(world: PostgresWorld, total: number): Promise<boolean> {
    return this.violations.length === 0 && (await count(world, 'settled')) < total
  }

  async check(world: PostgresWorld, total: number): Promise<void> {
    if (this.violations.length > 0) return
    const [ended, waiting, open] = [
      await count(world, 'settled'),
      await count(world, 'queued'),
      await count(world, 'open_attempt'),
    ]
    if (ended !== total || waiting + open > 0)
      this.violations.push(`${ended} of ${total} ended, ${waiting} wait, ${open} are open`)
    if (this.#settled.size !== total) this.violations.push(`${this.#settled.size} of ${total} ends were reported`)
  }
}

async function count(world: PostgresWorld, table: string): Promise<number> {
  const session = await world.session()
  const { rows } = await session.query<{ count: number }>(`select count(*)::integer as count from ${table}`)
  await session.end()
  return rows[0]!.count
}

/** Takes every check of an epoch out of the function that writes steps. */
async function dropFence(world: PostgresWorld): Promise<void> {
  const session = await world.session()
  const { rows } = await session.query<{ source: string }>(
    `select pg_get_functiondef(oid) as source from pg_proc where proname = 'write_steps'`,
  )
  for (const { source } of rows) {
    const without = source.replaceAll(/ and (?:\w+\.)?epoch = epochs\[i\]/g, '')
    assert.notEqual(without, source)
    await session.query(without)
  }
}
