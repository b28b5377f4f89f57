import type { Clock } from '../../ports/clock.ts'

// How long an aborted call may take to return its result. After that it is given up.
const GRACE_MS = 1_000

/**
 * One call to a channel that always comes to an end, whatever the channel does. `sweep` ends what is overdue: one
 * sweep over all running calls is much cheaper than a timer for each.
 */
export class BoundedCall<Result> {
  readonly #abort = new AbortController()
  readonly #clock: Clock
  readonly #endsMonotonic: number
  readonly #givenUp: Result
  #finish: ((result: Result) => void) | null = null
  #abortedMonotonic: number | null = null

  /** `givenUp` is the result when the channel does not end the call. */
  constructor(clock: Clock, budgetMs: number, givenUp: Result) {
    this.#clock = clock
    this.#givenUp = givenUp
    this.#endsMonotonic = clock.monotonic() + budgetMs
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get isOverdue(): boolean {
    return this.#clock.monotonic() >= this.#endsMonotonic
  }

  get isAborted(): boolean {
    return this.#abortedMonotonic !== null
  }

  /** `thrown` makes the result when the channel throws, which it should not. */
  protected begin(running: Promise<Result>, thrown: (error: unknown) => Result): Promise<Result> {
    return new Promise<Result>((resolve) => {
      this.#finish = resolve
      running.then(resolve, (error: unknown) => resolve(thrown(error)))
    })
  }

  /** Asks the channel to stop, because the result is no longer needed or the worker no longer holds the lane. */
  abort(): void {
    this.#abortedMonotonic ??= this.#clock.monotonic()
    this.#abort.abort()
  }

  /** Aborts the call when it is overdue, and gives it up when it outlives the grace period. */
  sweep(): void {
    if (this.#abortedMonotonic === null) {
      if (this.isOverdue) this.abort()
    } else if (this.#clock.monotonic() >= this.#abortedMonotonic + GRACE_MS) {
      this.#finish?.(this.#givenUp)
    }
  }
}
