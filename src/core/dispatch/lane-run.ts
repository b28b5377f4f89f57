import type { ConnectionId } from '../ids.ts'
import type { QueuedMessage, Sequence } from '../message/message.ts'
import type { Lanes, Step } from '../ports/lanes.ts'

// Enough that a fast lane rarely has to look for more, small enough that a thousand busy lanes stay small.
const RUN_LENGTH = 32

/** The next messages of a lane, loaded a stretch at a time. */
export class LaneRun {
  readonly #lanes: Lanes
  readonly #connectionId: ConnectionId
  #messages: readonly QueuedMessage[] = []
  #at = 0
  #settledThrough: Sequence | null = null
  /** True when nothing can have come behind what was loaded. */
  #isWhole = false

  constructor(lanes: Lanes, connectionId: ConnectionId) {
    this.#lanes = lanes
    this.#connectionId = connectionId
  }

  /** The lowest unfinished message, as it will be once `close` is committed. Null when there is none. */
  async head(close: Step['close']): Promise<QueuedMessage | null> {
    const settled = close?.disposition.do === 'settle' ? close.attempt.sequence : null
    if (settled !== null && this.#messages[this.#at]?.sequence === settled) this.#at += 1
    if (this.#at >= this.#messages.length) {
      this.#settledThrough = settled
      this.#messages = []
      this.#at = 0
      if (!this.#isWhole) await this.#load(settled)
    }
    const head = this.#messages[this.#at]
    if (!head || head.sequence !== close?.attempt.sequence) return head ?? null
    // It stays the head of its lane, one attempt older.
    const older = { ...head, attempts: close.attempt.number }
    this.#messages = [older, ...this.#messages.slice(this.#at + 1)]
    this.#at = 0
    return older
  }

  /** Goes past the head, which was settled without an attempt. */
  pass(): void {
    this.#at += 1
  }

  /** More may have come behind what was loaded. */
  expectMore(): void {
    this.#isWhole = false
  }

  /** Somebody may have changed what was loaded. */
  forget(): void {
    this.#isWhole = false
    this.#messages = []
    this.#at = 0
  }

  /** The message through which the lane is done with, once per stretch: to be told to storage with the next step. */
  takeSettledThrough(): Sequence | null {
    const sequence = this.#settledThrough
    this.#settledThrough = null
    return sequence
  }

  async #load(settled: Sequence | null): Promise<void> {
    // Before the look: whoever comes during it says so again.
    this.#isWhole = true
    try {
      const messages = await this.#lanes.loadRun(this.#connectionId, RUN_LENGTH)
      this.#messages = settled === null ? messages : messages.filter((message) => message.sequence !== settled)
      this.#at = 0
      if (messages.length === RUN_LENGTH) this.#isWhole = false
    } catch (error) {
      this.#isWhole = false
      throw error
    }
  }
}
