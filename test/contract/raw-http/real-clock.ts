import type { Clock } from '../../../src/core/ports/clock.ts'

/** Sockets use real time, so tests with sockets use it, too. */
export const realClock: Clock = {
  now: () => Date.now(),
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs)
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
}
