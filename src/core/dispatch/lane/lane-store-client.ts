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
 * How a lane comes to an end. `hand-over`: nothing new begins, but what has happened is recorded, however long it takes.
 * `stop`: the process ends, so it is tried once more. `gone`: it is no longer this worker's.
 */
export type LaneEnding = 'hand-over' | 'stop' | 'gone'

/** A lane's way to storage. It asks until it is answered, and it finds out what became of a step whose answer was lost. */
export class LaneStoreClient {
  readonly #parts: LaneStoreClientParts
  /** An answer was lost, so that what was asked for may have been done. A lane asks for one thing at a time. */
  #isInDoubt = false

  constructor(parts: LaneStoreClientParts) {
    this.#parts = parts
  }

  /** Null when nobody wants to know any more. */
  read<Result>(ask: () => Promise<Result>): Promise<Result | null> {
    return this.#untilAnswered('read', ask)
  }

  /** Null when it was given up, and then nobody knows whether it was written. */
  async record(step: LaneTransition): Promise<LaneTransitionResult | null> {
    const { lanes } = this.#parts
    this.#isInDoubt = false
    const result = await this.#untilAnswered('record', () => lanes.record(step))
    if (!result || !this.#isInDoubt || !isAmbiguous(step, result)) return result
    // The attempt that the step ends is not open any more: either the step was written the first time, or the lane is
    // another's. Or what it was to open may not be opened any more, but was, the first time. Under the same epoch nobody but
    // this lane opens or ends an attempt, so one look tells (G6).
    const now = await this.#untilAnswered('record', () => lanes.inspect(step))
    return now ? whatBecameOf(step, now.open) : result
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

/** Whether this could also be the answer to a step that was written before. */
function isAmbiguous({ start: open }: LaneTransition, result: LaneTransitionResult): boolean {
  return result.fenced || (open !== null && !result.started)
}

/** What an attempt that is open now, or none, says of a step whose answer was lost. */
function whatBecameOf({ start: open }: LaneTransition, found: OpenAttempt | null): LaneTransitionResult {
  if (!found) return { fenced: false, started: false }
  const isOwn = found.message.sequence === open?.sequence && found.number === open.number
  // It was committed and never called: the answer that would have allowed the call did not come (G4).
  return isOwn ? { fenced: false, started: true } : { fenced: true }
}
