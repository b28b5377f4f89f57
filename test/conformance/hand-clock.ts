import type { Clock } from '../../src/core/ports/clock.ts'

interface Timer {
  readonly at: number
  readonly call: () => void
}

/** A clock that moves only when a test moves it. Its jitter is always the middle of the range. */
export class HandClock implements Clock {
  #now: number
  #wall: number
  #monotonic = 1_000
  #timers: Timer[] = []
  jitter = 0.5
  /** What happens while time passes, besides the timers. */
  whilePassing: () => Promise<void> = () => Promise.resolve()

  constructor(startsAt: number = Date.UTC(2026, 0, 15, 12)) {
    this.#now = startsAt
    this.#wall = startsAt
  }

  now(): number {
    return this.#now
  }

  wall(): number {
    return this.#wall
  }

  monotonic(): number {
    return this.#monotonic
  }

  random(): number {
    return this.jitter
  }

  after(delayMs: number, call: () => void): () => void {
    const timer = { at: this.#monotonic + Math.max(0, delayMs), call }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer)
    }
  }

  /** Sets the wall clock of the machine, as a person or a suspension does. No timer notices. */
  setWall(byMs: number): void {
    this.#wall += byMs
  }

  /** Moves the time that all processes share. No timer notices. */
  setNow(byMs: number): void {
    this.#now += byMs
  }

  /** Lets time pass. Each due timer fires, and what it causes happens before the next timer. */
  async pass(ms: number): Promise<void> {
    const end = this.#monotonic + ms
    for (;;) {
      await settle()
      const next = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (!next) break
      this.#timers = this.#timers.filter((timer) => timer !== next)
      this.#move(Math.max(next.at, this.#monotonic))
      next.call()
    }
    this.#move(end)
    await this.whilePassing()
  }

  get timers(): number {
    return this.#timers.length
  }

  #move(to: number): void {
    const passedMs = to - this.#monotonic
    this.#now += passedMs
    this.#wall += passedMs
    this.#monotonic = to
  }
}

/** Lets everything happen that waits only for its turn, including commits. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}
