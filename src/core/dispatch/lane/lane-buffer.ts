import type { ConnectionId } from '../../ids.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { Lanes, LaneTransition } from '../../ports/lanes.ts'
import type { Decision } from '../rules/decide-head.ts'

// Large enough that a fast lane rarely fetches, small enough that a thousand busy lanes need little memory.
const CHUNK_LENGTH = 32

/**
 * The next messages of a lane: chunks fetched from storage, followed by messages that this process has just accepted. Another
 * process may have accepted a message before one of the latter, so storage checks that when it starts one (`isLowest`).
 */
export class LaneBuffer {
  readonly #lanes: Lanes
  readonly #connectionId: ConnectionId
  #messages: readonly QueuedMessage[] = []
  #at = 0
  /** How many of them were fetched; those behind were added by `add`. */
  #loaded = 0
  #isLoading = false
  #settledThrough: Sequence | null = null
  /** True while no later message is known that is missing here. */
  #isComplete = false

  constructor(lanes: Lanes, connectionId: ConnectionId) {
    this.#lanes = lanes
    this.#connectionId = connectionId
  }

  /** The lowest unfinished message, as it will be once `finish` is committed. Null when there is none. */
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

  /** False when the head was added by `add`: another process may have accepted a message that comes before it. */
  get isLowest(): boolean {
    return this.#at < this.#loaded
  }

  /**
   * True when another message may come before the head, which must be fetched first. A transition that starts the head does
   * not need it: storage checks that itself.
   */
  mustFetchFirst(decided: Decision['do']): boolean {
    if (this.isLowest || decided === 'start' || decided === 'idle') return false
    this.forget()
    return true
  }

  /** Skips the head, which was finalized without an attempt. */
  pass(): void {
    this.#at += 1
  }

  /** A message was accepted here. False when it must be fetched, because messages before it are missing here. */
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

  /** There may be messages that are missing here, also before those that were added. */
  expectMore(): void {
    this.#isComplete = false
    if (!this.#isLoading) this.#messages = this.#messages.slice(0, Math.max(this.#loaded, this.#at + 1))
  }

  /** The fetched messages may have changed. */
  forget(): void {
    this.#isComplete = false
    this.#keep([])
  }

  /** The message up to which the lane is finished, once per chunk. The next transition passes it to storage. */
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
    // Set before the query: a message that arrives during it clears it again.
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
