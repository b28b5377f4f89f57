import type { ConnectionId, Instant } from '../../ids.ts'
import { type QueuedMessage, recipientKey, type Sequence } from '../../message/message.ts'
import type { Lanes, PassedRange } from '../../ports/lanes.ts'
import type { FinishedAttempt } from '../rules/describe-attempt.ts'

// Large enough that a fast lane rarely fetches, small enough that a thousand busy lanes need little memory.
const CHUNK_LENGTH = 32
// After a chunk of which nothing could go: a lane that was taken over passes all deferred messages again.
const LONG_CHUNK_LENGTH = 256
// Nine bytes each. At this many the lane reads no further until one of them is final.
const MOST_DEFERRED = 100_000
const SCAN_EVERY_MS = 100
/** A deferred message is checked at least this often, whatever notification got lost and wherever the clock was set. */
export const CHECK_DEFERRED_EVERY_MS = 60_000

/** A message that may go next as far as its lane knows. */
export interface Candidate {
  readonly message: QueuedMessage
  /**
   * Set when it was accepted here and not read from storage: another process may have accepted one behind this message that
   * comes before it.
   */
  readonly knownThrough: Sequence | null
}

/** A message that waits for something of its own, and the later ones to its recipient. */
interface Deferred {
  readonly recipient: string
  /** Ascending; the first one from `at` on is the one that waits. */
  readonly sequences: Sequence[]
  at: number
  wakeAt: Instant
}

/** The one that waits. */
interface Waiting {
  readonly deferred: Deferred
  readonly sequence: Sequence
}

/**
 * What a lane knows of its messages. It reads forward only: everything up to `passedThrough` is final, open, or deferred.
 * Messages of a lane become visible in the order of their sequences, so nothing else can appear there (G3).
 *
 *   storage ──▶ read ──▶ next ──▶ open ──▶ final
 *   accepted here ──▶ added ─┘ │      │ stays queued
 *                              ▼      ▼
 *                             deferred ──▶ due ──▶ next
 */
export class LaneBuffer {
  readonly #lanes: Lanes
  readonly #connectionId: ConnectionId
  #read: readonly QueuedMessage[] = []
  #readAt: Instant = 0
  #at = 0
  /** Accepted here, behind those that were read. Storage checks what comes before one of them when it starts. */
  #added: QueuedMessage[] = []
  #passedThrough: Sequence = 0
  /** By recipient. */
  readonly #deferred = new Map<string, Deferred>()
  #deferredCount = 0
  /** Deferred messages whose wait is over, read again, in ascending order. */
  #due: QueuedMessage[] = []
  /** To be read again, because their wait is over. */
  readonly #woken = new Set<Deferred>()
  /** Messages that were read before what they wait for came. */
  readonly #outdated = new Set<Sequence>()
  #scannedAt: Instant = Number.NEGATIVE_INFINITY
  /** The last scan found more than it read. */
  #hasMoreDue = false
  /** True while no later message is known that is missing here. */
  #isComplete = false
  #isReading = false
  #mayRead = true
  #chunkLength = CHUNK_LENGTH
  /** The last message that stayed queued: until that is committed, storage has an older state of it. */
  #kept: QueuedMessage | null = null
  /** The last message that was finalized: until that is committed, storage still has it. */
  #finalized: Sequence = 0
  #passed: PassedRange[] = []
  /** The part that was passed since the last range. */
  #part: { after: Sequence; deferred: Sequence[]; hasFinal: boolean } = { after: 0, deferred: [], hasFinal: false }

  constructor(lanes: Lanes, connectionId: ConnectionId) {
    this.#lanes = lanes
    this.#connectionId = connectionId
  }

  /** How many messages are deferred, or wait behind one that is. */
  get deferredCount(): number {
    return this.#deferredCount
  }

  /** True when the next turn may find messages that this one did not read. */
  get mayHaveMore(): boolean {
    return !this.#isComplete && this.#deferredCount < MOST_DEFERRED
  }

  /** When the next deferred message is checked. */
  nextCheckAt(now: Instant): Instant {
    let first = now + CHECK_DEFERRED_EVERY_MS
    for (const { wakeAt } of this.#deferred.values()) first = Math.min(first, wakeAt)
    return Math.max(first, this.#scannedAt > now ? now : this.#scannedAt + SCAN_EVERY_MS)
  }

  /** Each turn reads at most one chunk, so that an outcome does not wait for more than that. */
  beginTurn(): void {
    this.#mayRead = true
  }

  /**
   * The earliest message that may go, as far as is known here. Null when there is none, or the turn has read its chunk. A
   * promise only where storage must be read, because a lane in flow asks this for each message.
   */
  next(now: Instant): Candidate | null | Promise<Candidate | null> {
    const over = this.#deferred.size > 0 ? this.#findOver(now) : NONE
    if (over.length === 0) return this.#nextInOrder(now)
    return this.#readDue(over).then(() => this.#nextInOrder(now))
  }

  #nextInOrder(now: Instant): Candidate | null | Promise<Candidate | null> {
    const due = this.#due[0]
    if (due) return { message: due, knownThrough: null }
    for (;;) {
      const read = this.#read[this.#at]
      if (read) {
        if (read.sequence !== this.#finalized && !this.#deferred.has(recipientKey(read)))
          return { message: read, knownThrough: null }
        this.#passOver(read)
        continue
      }
      const added = this.#added[0]
      if (added && !this.#deferred.has(recipientKey(added)))
        return { message: added, knownThrough: this.#passedThrough }
      // One that another process accepted before it would be passed over unseen, so everything is read first.
      if (added) this.expectMore()
      if (!this.#mayRead || !this.mayHaveMore) return null
      this.#mayRead = false
      return this.#readOn(now).then(() => this.#nextInOrder(now))
    }
  }

  /** The message starts an attempt, or was finalized without one. */
  taken(message: QueuedMessage): void {
    if (this.#due[0] === message) this.#due.shift()
    else this.#pass(message)
    this.#chunkLength = CHUNK_LENGTH
  }

  /** A message was finalized without an attempt. */
  discarded(message: QueuedMessage): void {
    this.taken(message)
    this.#final(message)
  }

  /** Applies the end of an attempt, before it is committed. `wakeAt`: when the message is checked again if it stays queued; 0: next. */
  finish({ message, finish: { attempt, disposition } }: FinishedAttempt, wakeAt: Instant): void {
    if (disposition.do === 'finalize') {
      this.#finalized = message.sequence
      this.#final(message)
    } else if (disposition.do === 'keep-queued') {
      this.#kept = { ...message, attempts: attempt.number, retry: disposition.retry }
      this.#defer(message, wakeAt)
    }
  }

  /** The message waits until then, and with it all later ones to its recipient. True when it was not deferred before. */
  defer(message: QueuedMessage, wakeAt: Instant): boolean {
    const isOutdated = this.#outdated.delete(message.sequence)
    if (this.#due[0] === message) {
      this.#due.shift()
      return this.#defer(message, isOutdated ? 0 : wakeAt)
    }
    this.#pass(message)
    // It may have been read long ago, in a lane that sends slowly.
    return this.#defer(message, isOutdated ? 0 : Math.min(wakeAt, this.#readAt + CHECK_DEFERRED_EVERY_MS))
  }

  /** True when storage must be read before this decision counts, because another message may come before the candidate. */
  mustReadFirst({ knownThrough }: Candidate): boolean {
    if (knownThrough !== null) this.expectMore()
    return knownThrough !== null
  }

  /** What this message waits for may have come. */
  wake(sequence: Sequence): void {
    for (const deferred of this.#deferred.values()) {
      if (deferred.sequences[deferred.at] !== sequence) continue
      deferred.wakeAt = 0
      this.#woken.add(deferred)
      return
    }
    if (this.#isReading || this.#read.some((message) => message.sequence === sequence)) this.#outdated.add(sequence)
  }

  /** A message was accepted here. False when it must be read, because messages before it may be missing here. */
  add(message: QueuedMessage): boolean {
    const last = (this.#added.at(-1) ?? this.#read.at(-1))?.sequence ?? this.#passedThrough
    const isFull = this.#read.length - this.#at + this.#added.length >= CHUNK_LENGTH
    const isNext = message.sequence > last && !this.#deferred.has(recipientKey(message))
    if (!this.#isComplete || this.#isReading || !isNext || isFull) {
      this.#isComplete = false
      return false
    }
    this.#added.push(message)
    return true
  }

  /** There may be messages that are missing here, also before those that were added. */
  expectMore(): void {
    this.#isComplete = false
    if (!this.#isReading && this.#added.length > 0) this.#added = []
  }

  /** What was read may have changed. Deferred messages are read again, each when its turn comes. */
  forget(): void {
    this.#isComplete = false
    this.#read = []
    this.#at = 0
    this.#added = []
    this.#due = []
    this.#woken.clear()
    this.#outdated.clear()
    for (const deferred of this.#deferred.values()) deferred.wakeAt = 0
    this.#scannedAt = Number.NEGATIVE_INFINITY
  }

  /** What the lane has passed since the last call. The next transition passes it to storage. */
  takePassed(): readonly PassedRange[] {
    // Storage keeps the lane short while nothing is read.
    if (this.#at >= this.#read.length) this.#closePart()
    if (this.#passed.length === 0) return NONE
    const passed = this.#passed
    this.#passed = []
    return passed
  }

  #pass({ sequence }: QueuedMessage): void {
    if (this.#read[this.#at]?.sequence === sequence) this.#at += 1
    else if (this.#added[0]?.sequence === sequence) this.#added.shift()
    this.#passedThrough = Math.max(this.#passedThrough, sequence)
  }

  /** A message that was open when the lane was claimed may lie beyond what the lane has read, so it is not passed here. */
  #defer(message: QueuedMessage, wakeAt: Instant): boolean {
    const recipient = recipientKey(message)
    const known = this.#deferred.get(recipient)
    const deferred = known ?? { recipient, sequences: [message.sequence], at: 0, wakeAt }
    deferred.wakeAt = wakeAt
    if (wakeAt === 0) this.#woken.add(deferred)
    if (known) return false
    this.#deferred.set(recipient, deferred)
    this.#count(message.sequence)
    return true
  }

  #passOver(message: QueuedMessage): void {
    const deferred = this.#deferred.get(recipientKey(message))
    const { sequence } = message
    this.#pass(message)
    // A message that was open when the lane was claimed is met again.
    if (sequence === this.#finalized || !deferred || sequence <= (deferred.sequences.at(-1) ?? 0)) return
    deferred.sequences.push(sequence)
    this.#count(sequence)
  }

  #count(sequence: Sequence): void {
    this.#deferredCount += 1
    if (sequence > this.#part.after) this.#part.deferred.push(sequence)
  }

  #final(message: QueuedMessage): void {
    const { sequence } = message
    const deferred = this.#deferred.get(recipientKey(message))
    this.#chunkLength = CHUNK_LENGTH
    if (deferred?.sequences[deferred.at] === sequence) this.#dropFirst(deferred)
    else if (sequence > this.#part.after && sequence <= this.#passedThrough) this.#part.hasFinal = true
    else this.#passed.push({ after: sequence - 1, through: sequence, deferred: NONE })
  }

  /** The first one no longer waits, so the next one to its recipient may go. */
  #dropFirst(deferred: Deferred): void {
    const sequence = deferred.sequences[deferred.at] ?? 0
    this.#passed.push({ after: sequence - 1, through: sequence, deferred: NONE })
    this.#deferredCount -= 1
    deferred.at += 1
    deferred.wakeAt = 0
    if (deferred.at === deferred.sequences.length) {
      this.#deferred.delete(deferred.recipient)
      this.#woken.delete(deferred)
      return
    }
    this.#woken.add(deferred)
    if (deferred.at > 1_000) deferred.at -= deferred.sequences.splice(0, deferred.at).length
  }

  #closePart(): void {
    const { after, deferred, hasFinal } = this.#part
    if (after === this.#passedThrough) return
    // Where nothing is final, storage has nothing to forget.
    if (hasFinal) this.#passed.push({ after, through: this.#passedThrough, deferred })
    this.#part = { after: this.#passedThrough, deferred: [], hasFinal: false }
  }

  async #readOn(now: Instant): Promise<void> {
    this.#closePart()
    this.#readAt = now
    // Set before the query: a message that arrives during it clears it again.
    this.#isComplete = true
    this.#isReading = true
    this.#added = []
    this.#outdated.clear()
    try {
      const limit = this.#chunkLength
      const messages = await this.#lanes.fetchNext(this.#connectionId, limit, this.#passedThrough)
      this.#read = messages
      this.#at = 0
      if (messages.length === limit) {
        this.#isComplete = false
        this.#chunkLength = LONG_CHUNK_LENGTH
      }
    } catch (error) {
      this.#isComplete = false
      throw error
    } finally {
      this.#isReading = false
    }
  }

  /** The deferred messages to read now, because their wait is over. */
  #findOver(now: Instant): readonly Waiting[] {
    const isTime = now >= this.#scannedAt + SCAN_EVERY_MS || now < this.#scannedAt
    const isScan = isTime || (this.#hasMoreDue && this.#due.length === 0)
    if (!isScan && this.#woken.size === 0) return NONE
    const isOver = (one: Deferred) =>
      one.wakeAt <= now || one.wakeAt > now + CHECK_DEFERRED_EVERY_MS || this.#woken.has(one)
    const over = isScan ? [...this.#deferred.values()].filter(isOver) : [...this.#woken]
    const known = new Set(this.#due.map(({ sequence }) => sequence))
    const below = this.#due[CHUNK_LENGTH - 1]?.sequence ?? Number.POSITIVE_INFINITY
    const wanted = over
      .map((deferred) => ({ deferred, sequence: deferred.sequences[deferred.at] ?? 0 }))
      .filter(({ sequence }) => sequence < below && !known.has(sequence))
      .sort((a, b) => a.sequence - b.sequence)
    const chosen = wanted.slice(0, CHUNK_LENGTH)
    if (isScan) {
      this.#scannedAt = now
      this.#hasMoreDue = wanted.length > chosen.length
    }
    return chosen
  }

  async #readDue(chosen: readonly Waiting[]): Promise<void> {
    // Before the query: one that is woken during it is read once more.
    for (const { deferred } of chosen) this.#woken.delete(deferred)
    const found = await this.#readOnes(chosen)
    chosen.forEach(({ deferred, sequence }, at) => {
      const message = found[at]?.[0]
      if (message?.sequence === sequence && sequence !== this.#finalized) this.#due.push(this.#current(message))
      // It was cancelled, or has expired.
      else this.#dropFirst(deferred)
    })
    this.#due.sort((a, b) => a.sequence - b.sequence)
  }

  async #readOnes(chosen: readonly Waiting[]) {
    try {
      return await Promise.all(chosen.map(({ sequence }) => this.#lanes.fetchNext(this.#connectionId, 1, sequence - 1)))
    } catch (error) {
      for (const { deferred } of chosen) this.#woken.add(deferred)
      throw error
    }
  }

  #current(message: QueuedMessage): QueuedMessage {
    const kept = this.#kept
    if (kept?.sequence !== message.sequence || kept.attempts <= message.attempts) return message
    return { ...message, attempts: kept.attempts, retry: kept.retry }
  }
}

const NONE: readonly never[] = []
