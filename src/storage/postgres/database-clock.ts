import type { Instant } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'

// Whoever asks for the time waits less than this for the answer, or learns nothing from it: a difference as large means
// that somebody has set a clock.
const JUMP_MS = 2_000
// At one every three seconds, both clocks drift apart by less than two milliseconds while the oldest of them is kept.
const SAMPLES_KEPT = 5

interface Sample {
  /** What must be added to the monotonic clock to have the time of the database. */
  readonly offsetMs: number
  /** By how much that may be wrong. */
  readonly errorMs: number
}

/**
 * The time of the database, which all processes on it agree on. Learned with each heartbeat and carried on by the
 * monotonic clock in between, so that whatever the clock of this machine is set to changes nothing. Until the first
 * heartbeat it is this machine's.
 */
export class DatabaseClock implements Clock {
  readonly #base: Clock
  #samples: readonly Sample[] = []
  #offsetMs: number | null = null
  #jumpedMonotonic = Number.NEGATIVE_INFINITY

  constructor(base: Clock) {
    this.#base = base
  }

  now(): Instant {
    return this.expected ?? this.#base.now()
  }

  /** What the database should say now; null as long as nobody has asked it. */
  get expected(): Instant | null {
    return this.#offsetMs === null ? null : Math.floor(this.#base.monotonic() + this.#offsetMs)
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
    const sample = { offsetMs: now - askedMonotonic - errorMs, errorMs }
    // It cannot be as far off as that: one of the two clocks has jumped, and what was learned before is worth nothing.
    if (this.#offsetMs !== null && Math.abs(sample.offsetMs - this.#offsetMs) > JUMP_MS + errorMs) {
      this.#jumpedMonotonic = answered
      this.#samples = []
    }
    this.#samples = [...this.#samples, sample].slice(-SAMPLES_KEPT)
    this.#offsetMs = this.#samples.reduce((best, each) => (each.errorMs <= best.errorMs ? each : best)).offsetMs
  }

  /** True when the clock of the database, or this one, has jumped within the last so many milliseconds. */
  hasJumped(withinMs: number): boolean {
    return this.#base.monotonic() - this.#jumpedMonotonic < withinMs
  }
}
