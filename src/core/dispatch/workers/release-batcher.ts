import type { ConnectionId } from '../../ids.ts'
import type { Journal } from '../../ports/journal.ts'
import type { Lanes } from '../../ports/lanes.ts'

interface HeldLane {
  readonly connectionId: ConnectionId
  readonly epoch: number
}

/** Gives lanes back. When a worker comes, thousands may change hands at once: they share their commits. */
export class ReleaseBatcher {
  readonly #lanes: Lanes
  readonly #journal: Journal
  #waiting: HeldLane[] = []
  #next: Promise<void> | null = null
  #last: Promise<void> = Promise.resolve()

  constructor({ lanes, journal }: { lanes: Lanes; journal: Journal }) {
    this.#lanes = lanes
    this.#journal = journal
  }

  /** Resolves once it was given back, or could not be. A lane whose epoch has moved on is left alone by storage. */
  add({ connectionId, epoch }: HeldLane): Promise<void> {
    this.#waiting.push({ connectionId, epoch })
    this.#next ??= this.#last = this.#last.then(() => this.#release())
    return this.#next
  }

  /** Resolves once all that were added are dealt with. */
  settled(): Promise<void> {
    return this.#last
  }

  async #release(): Promise<void> {
    const released = this.#waiting
    this.#waiting = []
    this.#next = null
    try {
      await this.#lanes.release(released)
    } catch (error) {
      // Then the claim runs out by itself, or this worker takes the lane again.
      this.#journal.record({ event: 'storage.unavailable', error })
    }
  }
}
