import type { ConnectionId } from '../../ids.ts'
import type { Clock } from '../../ports/clock.ts'

// Longer than other workers wait between two polls.
const LEFT_FOR_MS = 15_000

/** Lanes that this worker leaves to others for a while, because it cannot serve their channel. */
export class LeftLanes {
  readonly #clock: Clock
  readonly #until = new Map<ConnectionId, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  leave(id: ConnectionId): void {
    this.#until.set(id, this.#clock.monotonic() + LEFT_FOR_MS)
  }

  has(id: ConnectionId): boolean {
    const until = this.#until.get(id)
    if (until === undefined) return false
    const isLeft = until > this.#clock.monotonic()
    if (!isLeft) this.#until.delete(id)
    return isLeft
  }
}
