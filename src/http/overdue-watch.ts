import type { Clock } from '../core/ports/clock.ts'

export interface Waiting {
  /** Called once, when it has waited for too long. */
  giveUp(): void
}

/**
 * Ends what waits for too long. One timer looks at all, because a timer for each request would cost more than the
 * checks of the request. So patience may last a quarter longer than asked for.
 */
export class OverdueWatch {
  readonly #clock: Clock
  readonly #patienceMs: number
  /** In order of their beginning: a Map keeps it. */
  readonly #waiting = new Map<Waiting, number>()
  #isTicking = false

  constructor(clock: Clock, patienceMs: number) {
    this.#clock = clock
    this.#patienceMs = patienceMs
  }

  begin(waiting: Waiting): void {
    this.#waiting.set(waiting, this.#clock.monotonic())
    this.#tickLater()
  }

  /** False when it was given up before. */
  end(waiting: Waiting): boolean {
    return this.#waiting.delete(waiting)
  }

  #tickLater(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    this.#clock.after(this.#patienceMs / 4, () => {
      this.#isTicking = false
      this.#tick()
    })
  }

  #tick(): void {
    const overdueBefore = this.#clock.monotonic() - this.#patienceMs
    for (const [waiting, since] of this.#waiting) {
      if (since > overdueBefore) break
      this.#waiting.delete(waiting)
      waiting.giveUp()
    }
    if (this.#waiting.size > 0) this.#tickLater()
  }
}
