import { type Lanes, StorageUnavailable } from '../../src/core/ports/lanes.ts'
import type { Random } from './random.ts'
import type { Schedule } from './schedule.ts'
import type { SimulatedMachine } from './simulated-machine.ts'
import type { Trace } from './trace.ts'

/** How often the connection between a worker and the database fails. All 0 after the faults have stopped. */
export interface StorageFaults {
  failsBefore: number
  failsAfter: number
  slow: number
  verySlow: number
  /** Nothing reaches the database before this time. */
  awayUntil: number
}

export interface LanesParts {
  readonly inner: Lanes
  readonly machine: SimulatedMachine
  readonly schedule: Schedule
  readonly random: Random
  readonly faults: StorageFaults
  readonly trace: Trace
}

/**
 * One worker's connection to the database. A call may be slow, or fail before or after its commit. The database has its own
 * clock, which workers learn from it; the times that a worker writes about messages are its own.
 */
export class FaultyLanes implements Lanes {
  readonly #parts: LanesParts
  /** Only this worker cannot reach the database before this time. */
  cutUntil = 0

  constructor(parts: LanesParts) {
    this.#parts = parts
  }

  async heartbeat(...given: Parameters<Lanes['heartbeat']>) {
    const living = await this.#call('heartbeat', () => this.#parts.inner.heartbeat(...given))
    this.#parts.machine.learnTime()
    return living
  }

  deleteLease(...given: Parameters<Lanes['deleteLease']>) {
    return this.#call('retire', () => this.#parts.inner.deleteLease(...given))
  }

  claim(...given: Parameters<Lanes['claim']>) {
    return this.#call('claim', () => this.#parts.inner.claim(...given))
  }

  inspect(...given: Parameters<Lanes['inspect']>) {
    return this.#call('inspect', () => this.#parts.inner.inspect(...given))
  }

  release(...given: Parameters<Lanes['release']>) {
    return this.#call('release', () => this.#parts.inner.release(...given))
  }

  fetchNext(...given: Parameters<Lanes['fetchNext']>) {
    return this.#call('fetchNext', () => this.#parts.inner.fetchNext(...given))
  }

  record(...given: Parameters<Lanes['record']>) {
    return this.#call('record', () => this.#parts.inner.record(...given))
  }

  expire(...given: Parameters<Lanes['expire']>) {
    return this.#call('expire', () => this.#parts.inner.expire(...given))
  }

  applyReceipt(...given: Parameters<Lanes['applyReceipt']>) {
    return this.#call('applyReceipt', () => this.#parts.inner.applyReceipt(...given))
  }

  #call<Result>(name: string, run: () => Promise<Result>): Promise<Result> {
    const { machine, schedule, random, faults, trace } = this.#parts
    const cutMs = this.cutUntil - schedule.now
    // Either both directions are cut off or only the reply. A cut-off reply comes when the connection is back.
    const isLost = schedule.now < faults.awayUntil || (cutMs > 0 && random.chance(0.7))
    const callResult = isLost
      ? 'fails-before'
      : random.weighed({ 'fails-before': faults.failsBefore, 'fails-after': faults.failsAfter, works: 1 })
    const [thereMs, backMs] = [
      this.#delayMs(),
      this.#delayMs() + (cutMs > 0 && !isLost ? cutMs + random.between(0, 3_000) : 0),
    ]
    return new Promise<Result>((resolve, reject) => {
      const answer = (call: () => void) => {
        if (backMs === 0) machine.deliver(call)
        else schedule.after(backMs, () => machine.deliver(call))
      }
      const fail = (unknown: boolean) => {
        trace.note(machine.name, `storage ${name} ${unknown ? 'committed, and its answer is lost' : 'fails'}`)
        answer(() => reject(new StorageUnavailable('simulated', unknown)))
      }
      const perform = () => {
        if (callResult === 'fails-before') return fail(false)
        schedule.work(run).then(
          (result) => (callResult === 'fails-after' ? fail(true) : answer(() => resolve(result))),
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        )
      }
      if (thereMs === 0) perform()
      else schedule.after(thereMs, perform)
    })
  }

  #delayMs(): number {
    const { random, faults } = this.#parts
    const kind = random.weighed({ slow: faults.slow, verySlow: faults.verySlow, fast: 1 })
    if (kind === 'verySlow') return random.between(2_000, 25_000)
    return kind === 'slow' ? random.between(1, 1_500) : random.pick([0, 0, 1, 2])
  }
}
