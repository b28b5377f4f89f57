import type { Instant } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'

// Whoever asks for the time waits less than this for the answer, or learns nothing from it: a difference as large means
// that somebody has set a clock.
const JUMP_MS = 2_000
// By how much two clocks may run apart at most: a time server that corrects one of them does not push harder.
const DRIFT = 0.0005

interface Sample {
  /** What must be added to the monotonic clock to have the time of the database. */
  readonly offsetMs: number
  /** By how much that may be wrong. */
  readonly errorMs: number
  readonly atMonotonic: number
}

/**
 * The time of the database, which all processes on it agree on. Learned with each heartbeat and carried on by the
 * monotonic clock in between, so that whatever the clock of this machine is set to changes nothing. Until the first
 * heartbeat it is this machine's.
 */
export class DatabaseClock implements Clock {
  readonly #base: Clock
  #best: Sample | null = null
  #jumpedMonotonic = Number.NEGATIVE_INFINITY
  #toldLast = Number.NEGATIVE_INFINITY

  constructor(base: Clock) {
    this.#base = base
  }

  /** A better answer that takes some milliseconds back is waited for: what begins after another has ended says so. */
  now(): Instant {
    const now = this.expected ?? this.#base.now()
    const isCorrection = now < this.#toldLast && this.#toldLast - now < JUMP_MS
    if (!isCorrection) this.#toldLast = now
    return this.#toldLast
  }

  /** What the database should say now; null as long as nobody has asked it. */
  get expected(): Instant | null {
    return this.#best === null ? null : Math.floor(this.#base.monotonic() + this.#best.offsetMs)
  }

  wall(): Instant {
    return this.#base.wall()
  }

  monotonic(): number {
    return this.#base.monotonic()
  }

  after(delayMs: number, call: () => void): () => void {
    return this.#base.after(delayMs, call)
  }

  random(): number {
    return this.#base.random()
  }

  /** The database said `now`, and was asked at `askedMonotonic`. */
  learn(now: Instant, askedMonotonic: number): void {
    const answered = this.#base.monotonic()
    const errorMs = (answered - askedMonotonic) / 2
    const sample = { offsetMs: now - askedMonotonic - errorMs, errorMs, atMonotonic: answered }
    const best = this.#best
    if (best) {
      const differsByMs = Math.abs(sample.offsetMs - best.offsetMs)
      // It cannot be as far off as that: one of the two clocks has jumped.
      if (differsByMs > JUMP_MS + errorMs) this.#jumpedMonotonic = answered
      // A quick answer stays better than slow ones for long: a database that is slow for minutes would otherwise move the
      // time by seconds, back and forth. Unless both cannot be right: then a clock was set, and the older one is worth nothing.
      const bestErrorMs = best.errorMs + (answered - best.atMonotonic) * DRIFT
      if (bestErrorMs < errorMs && differsByMs <= bestErrorMs + errorMs) return
    }
    this.#best = sample
  }

  /** True when the clock of the database, or this one, has jumped within the last so many milliseconds. */
  hasJumped(withinMs: number): boolean {
    return this.#base.monotonic() - this.#jumpedMonotonic < withinMs
  }
}
