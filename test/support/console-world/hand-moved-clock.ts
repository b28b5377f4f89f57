import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../../src/core/ports/clock.ts'
import { waitUntil } from '../black-box/wait-until.ts'

interface Timer {
  readonly at: number
  readonly call: () => void
}

/** Stands still until a test moves it. Then it calls what is due. */
export class HandMovedClock implements Clock {
  #now = Date.UTC(2026, 10, 21)
  readonly #timers = new Set<Timer>()

  get waiting(): number {
    return this.#timers.size
  }

  now = (): number => this.#now
  wall = (): number => this.#now
  monotonic = (): number => this.#now
  random = (): number => 0.5

  after = (delayMs: number, call: () => void): (() => void) => {
    const timer = { at: this.#now + delayMs, call }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Moves the clock, and lets what was called finish as far as it does not wait for anything else. */
  async move(ms: number): Promise<void> {
    await this.#settle()
    this.#now += ms
    for (const timer of [...this.#timers].sort((a, b) => a.at - b.at)) {
      if (timer.at > this.#now || !this.#timers.delete(timer)) continue
      timer.call()
    }
    await this.#settle()
  }

  /** Waits in real time, for what comes over a socket. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    await waitUntil('it is so', async () => isSo(), { deadlineMs: 10_000, everyMs: 5 })
  }

  async #settle(): Promise<void> {
    for (let turns = 0; turns < 20; turns++) await turn()
  }
}
