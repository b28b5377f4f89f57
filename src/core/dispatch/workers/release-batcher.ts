import type { ConnectionId } from '../../ids.ts'
import type { Journal } from '../../ports/journal.ts'
import type { Lanes } from '../../ports/lanes.ts'

interface HeldLane {
  readonly connectionId: ConnectionId
  readonly epoch: number
}

/** Releases lanes in batches: when a worker joins, thousands may be released at once and share their commits. */
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

  /** Resolves once the lane was released, or could not be. Storage ignores a lane whose epoch has moved on. */
  add({ connectionId, epoch }: HeldLane): Promise<void> {
    this.#waiting.push({ connectionId, epoch })
    this.#next ??= this.#last = this.#last.then(() => this.#release())
    return this.#next
  }

  /** Resolves once all added lanes were handled. */
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
      // Then the lease expires, or this worker claims the lane again.
      this.#journal.record({ event: 'storage.unavailable', error })
    }
  }
}
