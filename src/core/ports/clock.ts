import type { Instant } from '../ids.ts'

/** Time, randomness and timers. Everything that waits or needs a random number uses this, so that tests move time by hand. */
export interface Clock {
  /**
   * The time of day that all processes on one database agree on. May jump; only for what people read and for ends that
   * survive a restart.
   */
  now(): Instant
  /** The machine's own wall clock. Used only because it goes on while the machine is suspended. */
  wall(): Instant
  /** Milliseconds that never jump, but stand still while the machine is suspended. */
  monotonic(): number
  /** Calls back once after `delayMs`. The returned function cancels; calling it late is harmless. */
  after(delayMs: number, call: () => void): () => void
  /** A number in [0, 1). */
  random(): number
}
