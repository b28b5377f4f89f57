import type { Clock } from '../../core/ports/clock.ts'

export interface DeadlineItem {
  /** Called once, when the timeout has passed. */
  onDeadline(): void
}

/** The index of an item in the queue. Invalid after `remove`. */
export type Ticket = number

/**
 * Calls items whose timeout has passed. One timer checks all of them, because a timer for each request would cost more
 * than validating the request. A timeout may therefore last up to a quarter longer.
 *
 * Places in an array that are cleared at once, not a Map or a linked list: their discarded nodes in old memory still
 * point to finished requests, so the garbage collector keeps those for much longer. That cost a fifth of the rate.
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

  /** False when its timeout has passed already. */
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
