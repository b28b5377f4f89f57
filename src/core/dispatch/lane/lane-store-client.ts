import type { InterruptibleSleep } from '../../interruptible-sleep.ts'
import type { Journal } from '../../ports/journal.ts'
import {
  type Lanes,
  type LaneTransition,
  type LaneTransitionResult,
  type OpenAttempt,
  StorageUnavailable,
} from '../../ports/lanes.ts'

const STORAGE_RETRY_MS = 500

interface LaneStoreClientParts {
  readonly lanes: Lanes
  readonly journal: Journal
  readonly sleeper: InterruptibleSleep
  readonly ending: () => LaneEnding | null
}

/**
 * How a lane ends. `hand-over`: nothing new starts, and the outcome is recorded however long that takes. `stop`: the process
 * ends, so a failed call is not repeated. `gone`: the lane is no longer this worker's.
 */
export type LaneEnding = 'hand-over' | 'stop' | 'gone'

/** Retries until storage answers, then resolves ambiguous commits. */
export class LaneStoreClient {
  readonly #parts: LaneStoreClientParts
  /** An answer was lost, so the call may have been committed. A lane makes one call at a time. */
  #isInDoubt = false

  constructor(parts: LaneStoreClientParts) {
    this.#parts = parts
  }

  /** Synchronous where nothing had to be read. Null when the lane ended before an answer came. */
  read<Result>(ask: () => Result | Promise<Result>): Result | Promise<Result | null> {
    let first: Result | Promise<Result> | undefined = ask()
    if (!(first instanceof Promise)) return first
    return this.#untilAnswered('read', async () => {
      const asked = first ?? ask()
      first = undefined
      return asked
    })
  }

  /** Null when it was given up: then it is unknown whether it was written. */
  async record(transition: LaneTransition): Promise<LaneTransitionResult | null> {
    const { lanes } = this.#parts
    this.#isInDoubt = false
    const result = await this.#untilAnswered('record', () => lanes.record(transition))
    if (!result || !this.#isInDoubt || !isAmbiguous(transition, result)) return result
    // Either the first try was written, or another worker has the lane, or the attempt may no longer start. Under the same
    // epoch only this lane starts or finishes attempts, so one read of the lane distinguishes them (G6).
    const now = await this.#untilAnswered('record', () => lanes.inspect(transition))
    return now ? whatBecameOf(transition, now.open) : result
  }

  async #untilAnswered<Result>(what: 'read' | 'record', ask: () => Promise<Result>): Promise<Result | null> {
    const { journal, sleeper, ending } = this.#parts
    while (ending() !== 'gone') {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error
        journal.record({ event: 'storage.unavailable', error })
        if (error.unknown) this.#isInDoubt = true
        const end = ending()
        if (end !== null && !(end === 'hand-over' && what === 'record')) return null
        await sleeper.sleep(STORAGE_RETRY_MS)
      }
    }
    return null
  }
}

/** Whether storage would also answer this if an earlier try of the transition had been written. */
function isAmbiguous({ start: open }: LaneTransition, result: LaneTransitionResult): boolean {
  return result.fenced || (open !== null && !result.started)
}

/** The result of a transition whose answer was lost, by the attempt that is open now. */
function whatBecameOf({ start: open }: LaneTransition, found: OpenAttempt | null): LaneTransitionResult {
  if (!found) return { fenced: false, started: false }
  const isOwn = found.message.sequence === open?.sequence && found.number === open.number
  // It was committed and never called, because the call needs the answer that was lost (G4).
  return isOwn ? { fenced: false, started: true } : { fenced: true }
}
