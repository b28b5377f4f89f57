import type { ConnectionId } from '../../ids.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { Lanes, LaneTransition } from '../../ports/lanes.ts'
import type { Decision } from '../rules/decide-head.ts'

// Enough that a fast lane rarely has to look for more, small enough that a thousand busy lanes stay small.
const CHUNK_LENGTH = 32

/**
 * The next messages of a lane: loaded a stretch at a time, and behind them what this process has just accepted itself.
 * Of the latter nobody has looked whether another process was faster, so storage is told to (`isLowest`).
 */
export class LaneBuffer {
  readonly #lanes: Lanes
  readonly #connectionId: ConnectionId
  #messages: readonly QueuedMessage[] = []
  #at = 0
  /** How many of them were loaded; those behind were added. */
  #loaded = 0
  #isLoading = false
  #settledThrough: Sequence | null = null
  /** True when nothing is known to have come behind what is here. */
  #isComplete = false

  constructor(lanes: Lanes, connectionId: ConnectionId) {
    this.#lanes = lanes
    this.#connectionId = connectionId
  }

  /** The lowest unfinished message, as it will be once `close` is committed. Null when there is none. */
  async head(finish: LaneTransition['finish']): Promise<QueuedMessage | null> {
    const settled = finish?.disposition.do === 'finalize' ? finish.attempt.sequence : null
    if (settled !== null && this.#messages[this.#at]?.sequence === settled) {
      // Storage keeps the lane short while nothing is loaded.
      if (!this.isLowest) this.#settledThrough = settled
      this.#at += 1
    }
    if (this.#at >= this.#messages.length) {
      this.#settledThrough = settled
      this.#keep([])
      if (!this.#isComplete) await this.#load(settled)
    }
    const head = this.#messages[this.#at]
    if (!head || head.sequence !== finish?.attempt.sequence) return head ?? null
    // It stays the head of its lane, one attempt older.
    const older = { ...head, attempts: finish.attempt.number }
    const loaded = Math.max(1, this.#loaded - this.#at)
    this.#keep([older, ...this.#messages.slice(this.#at + 1)], loaded)
    return older
  }

  /** False when the head was added, so that others may have accepted something that comes before it. */
  get isLowest(): boolean {
    return this.#at < this.#loaded
  }

  /**
   * True when something may come before the head, and is looked for now. Whether that is so where the head is opened, storage
   * looks itself.
   */
  mustFetchFirst(decided: Decision['do']): boolean {
    if (this.isLowest || decided === 'start' || decided === 'idle') return false
    this.forget()
    return true
  }

  /** Goes past the head, which was settled without an attempt. */
  pass(): void {
    this.#at += 1
  }

  /** A message was accepted here. False when it must be looked for, because what comes before it is not here. */
  add(message: QueuedMessage): boolean {
    const last = this.#messages.at(-1)
    const isNext = !last || last.sequence < message.sequence
    if (!this.#isComplete || this.#isLoading || !isNext || this.#messages.length >= CHUNK_LENGTH) {
      this.#isComplete = false
      return false
    }
    this.#messages = [...this.#messages, message]
    return true
  }

  /** More may have come that is not here, also before what was added. */
  expectMore(): void {
    this.#isComplete = false
    if (!this.#isLoading) this.#messages = this.#messages.slice(0, Math.max(this.#loaded, this.#at + 1))
  }

  /** Somebody may have changed what was loaded. */
  forget(): void {
    this.#isComplete = false
    this.#keep([])
  }

  /** The message through which the lane is done with, once per stretch: to be told to storage with the next step. */
  takeSettledThrough(): Sequence | null {
    const sequence = this.#settledThrough
    this.#settledThrough = null
    return sequence
  }

  #keep(messages: readonly QueuedMessage[], loaded = messages.length): void {
    this.#messages = messages
    this.#at = 0
    this.#loaded = loaded
  }

  async #load(settled: Sequence | null): Promise<void> {
    // Before the look: whoever comes during it says so again.
    this.#isComplete = true
    this.#isLoading = true
    try {
      const messages = await this.#lanes.fetchNext(this.#connectionId, CHUNK_LENGTH)
      this.#keep(settled === null ? messages : messages.filter((message) => message.sequence !== settled))
      if (messages.length === CHUNK_LENGTH) this.#isComplete = false
    } catch (error) {
      this.#isComplete = false
      throw error
    } finally {
      this.#isLoading = false
    }
  }
}
