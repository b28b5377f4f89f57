// Counting costs the database about 0.1 µs a row, so it is asked the less often the more there is to count.
const REST_PER_ROW_MS = 0.004
const COUNT_AGAIN_AFTER_MS = 250
const COUNT_FULL_AGAIN_AFTER_MS = 1_000
const COUNT_HALF_FULL_AGAIN_AFTER_MS = 10_000
// What others accept within that time after a count is left out: a limit may be off by it.
const OTHERS_LEFT_OUT_FOR_MS = 1_000

/**
 * How many messages wait somewhere, between two counts: what was counted, and what was accepted since. Others accept
 * about as much as we do; what was sent meanwhile is only known after the next count. Times are monotonic.
 */
export class WaitingEstimate {
  readonly #limit: number
  #counted: number | null = null
  #countedAt = Number.NEGATIVE_INFINITY
  #acceptedSince = 0
  /** From when the count that is under way began. */
  #acceptedDuring: number | null = null

  constructor(limit: number) {
    this.#limit = limit
  }

  accept(): void {
    this.#acceptedSince += 1
    if (this.#acceptedDuring !== null) this.#acceptedDuring += 1
  }

  beginCount(now: number): void {
    this.#countedAt = now
    this.#acceptedDuring = 0
  }

  /** Null: it could not be counted. */
  endCount(counted: number | null): void {
    if (counted !== null) {
      this.#counted = counted
      this.#acceptedSince = this.#acceptedDuring ?? 0
    }
    this.#acceptedDuring = null
  }

  /** A backlog that was not counted yet is not full. */
  isFull(now: number, processes: number): boolean {
    if (this.#counted === null) return false
    const others = now - this.#countedAt < OTHERS_LEFT_OUT_FOR_MS ? 1 : processes
    return this.#counted + this.#acceptedSince * others >= this.#limit
  }

  /** When to count again; infinite as long as the answer cannot matter. */
  countAgainAt(processes: number): number {
    if (this.#acceptedDuring !== null) return Number.POSITIVE_INFINITY
    const counted = this.#counted ?? 0
    const after = (delayMs: number) => this.#countedAt + delayMs + counted * REST_PER_ROW_MS
    if (this.#counted === null) return after(COUNT_AGAIN_AFTER_MS)
    if (counted >= this.#limit) return after(COUNT_FULL_AGAIN_AFTER_MS)
    // Before the limit can be reached, not when.
    if (this.#acceptedSince * processes >= (this.#limit - counted) / 2) return after(COUNT_AGAIN_AFTER_MS)
    return counted > this.#limit / 2 ? after(COUNT_HALF_FULL_AGAIN_AFTER_MS) : Number.POSITIVE_INFINITY
  }
}
