import type { Clock } from '../core/ports/clock.ts'

// setTimeout takes 32 bits; a longer wait is made of several timers.
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, call) {
    const timer = setTimeout(call, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS))
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
}
