import type { Clock } from './ports/clock.ts'

/** A sleep that can be cut short. One sleeper at a time. */
export class InterruptibleSleep {
  readonly #clock: Clock
  #interrupt: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async sleep(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(Math.max(0, delayMs), resolve)
      this.#interrupt = () => {
        cancel()
        resolve()
      }
    })
    this.#interrupt = null
  }

  /** Harmless when nothing sleeps. */
  interrupt(): void {
    this.#interrupt?.()
  }
}
