import type { Clock } from '../../core/ports/clock.ts'

export interface DeadlineItem {
  /** Called once, when it has waited for too long. */
  onDeadline(): void
}

/** Names a place in the watch. Of no use after `end`. */
export type Ticket = number

/**
 * Ends what waits for too long. One timer looks at all, because a timer for each request would cost more than the
 * checks of the request. So patience may last up to a quarter longer than asked for.
 *
 * Places in an array that are emptied at once, not a Map or a list: what those leave behind in old memory still points
 * to finished requests, and the collector then keeps all of them for much longer. Tried: it cost a fifth of the rate.
 */
export class DeadlineQueue {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #places: (DeadlineItem | null)[] = []
  readonly #since: number[] = []
  readonly #freePlaces: Ticket[] = []
  #isTicking = false

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  add(waiting: DeadlineItem): Ticket {
    const ticket = this.#freePlaces.pop() ?? this.#places.length
    this.#places[ticket] = waiting
    this.#since[ticket] = this.#clock.monotonic()
    this.#tickLater()
    return ticket
  }

  /** False when it was given up before. */
  remove(ticket: Ticket, waiting: DeadlineItem): boolean {
    if (this.#places[ticket] !== waiting) return false
    this.#places[ticket] = null
    this.#freePlaces.push(ticket)
    return true
  }

  #tickLater(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    this.#clock.after(this.#timeoutMs / 4, () => {
      this.#isTicking = false
      this.#tick()
    })
  }

  #tick(): void {
    const overdueBefore = this.#clock.monotonic() - this.#timeoutMs
    let stillWaiting = 0
    for (const [ticket, waiting] of this.#places.entries()) {
      if (!waiting) continue
      if ((this.#since[ticket] ?? 0) > overdueBefore) stillWaiting += 1
      else if (this.remove(ticket, waiting)) waiting.onDeadline()
    }
    if (stillWaiting > 0) this.#tickLater()
  }
}
