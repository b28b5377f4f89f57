import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'

const QUERY_EVERY_MS = 10 * 60_000
const NEXT_QUERY_AFTER_MS = 1_000
const MOST_AT_ONCE = 200

/** Removes entries of these kinds once they are too old to be of use, at their `remindAt`. */
export class StateCleanup {
  readonly #memory: ChannelState
  readonly #clock: Clock
  readonly #kinds: readonly string[]
  #isRunning = false
  #cancel: (() => void) | null = null

  constructor(memory: ChannelState, clock: Clock, kinds: readonly string[]) {
    this.#memory = memory
    this.#clock = clock
    this.#kinds = kinds
  }

  start(): void {
    this.#isRunning = true
    this.#scheduleQuery(QUERY_EVERY_MS)
  }

  /** Harmless twice or before start. */
  stop(): void {
    this.#isRunning = false
    this.#cancel?.()
  }

  #scheduleQuery(delayMs: number): void {
    // Jittered, so that workers which started together do not all query at once.
    if (this.#isRunning)
      this.#cancel = this.#clock.after(delayMs * (0.75 + this.#clock.random() / 2), () => void this.#query())
  }

  async #query(): Promise<void> {
    let found = 0
    try {
      for (const kind of this.#kinds) {
        const old = await this.#memory.due(kind, this.#clock.now(), MOST_AT_ONCE)
        for (const { position } of old) await this.#memory.remove(kind, position)
        found = Math.max(found, old.length)
      }
    } catch {
      // Storage logs by itself that it is away.
    }
    this.#scheduleQuery(found === MOST_AT_ONCE ? NEXT_QUERY_AFTER_MS : QUERY_EVERY_MS)
  }
}
