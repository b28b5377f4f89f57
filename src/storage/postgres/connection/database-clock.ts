import type { Instant } from '../../../core/ids.ts'
import type { Clock } from '../../../core/ports/clock.ts'

// An answer that takes longer than this is ignored, and a difference as large means that a clock was set.
const JUMP_MS = 2_000
// By how much two clocks may run apart at most: a time server that corrects one of them does not push harder.
const DRIFT = 0.0005

/** What must be added to the monotonic clock to have the time of the database. */
interface Offset {
  readonly ms: number
  /** The offset certainly lies between these two. */
  readonly leastMs: number
  readonly mostMs: number
  readonly atMonotonic: number
}

/**
 * The time of the database, which all processes on it agree on. Learned with each heartbeat and carried on by the
 * monotonic clock in between, so that whatever the clock of this machine is set to changes nothing. Until the first
 * heartbeat it is this machine's.
 */
export class DatabaseClock implements Clock {
  readonly #base: Clock
  #known: Offset | null = null
  #jumpedMonotonic = Number.NEGATIVE_INFINITY
  #lastReturned = Number.NEGATIVE_INFINITY

  constructor(base: Clock) {
    this.#base = base
  }

  /** Never goes back by a small correction: it stands still until the corrected time has caught up. So what begins after something else
   * has ended is not earlier. */
  now(): Instant {
    const now = this.expected ?? this.#base.now()
    const isCorrection = now < this.#lastReturned && this.#lastReturned - now < JUMP_MS
    if (!isCorrection) this.#lastReturned = now
    return this.#lastReturned
  }

  /** What the database should say now; null before the first answer. */
  get expected(): Instant | null {
    return this.#known === null ? null : Math.floor(this.#base.monotonic() + this.#known.ms)
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

  /**
   * The database said `now`, and was asked at `askedMonotonic`. From then on this clock is not earlier than that: what one worker ended
   * before another claimed its lane, has ended by the clocks of both.
   */
  learn(now: Instant, askedMonotonic: number): void {
    const heard = offsetOf(now, askedMonotonic, this.#base.monotonic())
    const known = this.#known && loosened(this.#known, heard.atMonotonic)
    // The estimate cannot be so far off: one of the two clocks has jumped.
    if (known && Math.abs(heard.ms - known.ms) > JUMP_MS + errorOf(heard)) this.#jumpedMonotonic = heard.atMonotonic
    this.#known = known ? bothOf(known, heard) : heard
  }

  /** True when the clock of the database, or this one, has jumped within the last so many milliseconds. */
  hasJumped(withinMs: number): boolean {
    return this.#base.monotonic() - this.#jumpedMonotonic < withinMs
  }
}

function offsetOf(now: Instant, asked: number, answered: number): Offset {
  // The database cuts off fractions of a millisecond.
  const [leastMs, mostMs] = [now - answered, now + 1 - asked]
  return { ms: (leastMs + mostMs) / 2, leastMs, mostMs, atMonotonic: answered }
}

function errorOf({ leastMs, mostMs }: Offset): number {
  return (mostMs - leastMs) / 2
}

function loosened({ ms, leastMs, mostMs, atMonotonic }: Offset, now: number): Offset {
  const driftMs = (now - atMonotonic) * DRIFT
  return { ms, leastMs: leastMs - driftMs, mostMs: mostMs + driftMs, atMonotonic: now }
}

/**
 * A quick answer stays more accurate than later slow ones for long. Otherwise a database that is slow for minutes would move
 * the time by seconds, back and forth. If both cannot be right, a clock was set, and the older one is dropped.
 */
function bothOf(known: Offset, heard: Offset): Offset {
  const leastMs = Math.max(known.leastMs, heard.leastMs)
  const mostMs = Math.min(known.mostMs, heard.mostMs)
  if (leastMs > mostMs) return heard
  const { ms } = errorOf(heard) < errorOf(known) ? heard : known
  return { ms: Math.min(Math.max(ms, leastMs), mostMs), leastMs, mostMs, atMonotonic: heard.atMonotonic }
}
