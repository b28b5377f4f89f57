import type { Instant } from '../../ids.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { DeferredMessage } from '../../ports/lanes.ts'
import type { Decision, MessageDecision } from '../rules/decide-message.ts'
import { deferred } from '../rules/describe-attempt.ts'
import type { BlockCheck } from './block-check.ts'
import { type Candidate, CHECK_DEFERRED_EVERY_MS, type LaneBuffer } from './lane-buffer.ts'
import type { LaneParts } from './lane-parts.ts'
import type { LaneRules } from './lane-rules.ts'
import type { LaneStoreClient } from './lane-store-client.ts'
import type { Preparation } from './preparation.ts'

// All files of a lane at once would leave the spool no room for those of others. The rest is fetched in its turn.
const MEDIA_WANTED_AT_ONCE = 8

export interface Choice {
  /** Null when no message may go. */
  readonly candidate: Candidate | null
  readonly decision: Decision
}

/** A message to prepare once its wait is committed. */
interface Planned {
  readonly message: QueuedMessage
  readonly budgetMs: number
}

interface ChooserParts extends Pick<LaneParts, 'clock' | 'journal' | 'wantMedia'> {
  readonly buffer: LaneBuffer
  readonly rules: LaneRules
  readonly blocks: BlockCheck
  readonly storage: LaneStoreClient
  readonly preparation: Preparation | null
  readonly isEnding: () => boolean
}

/** Chooses the message that a lane takes next: the earliest that may go. Those that may not step aside. */
export class MessageChooser {
  readonly #parts: ChooserParts
  #unsaved: DeferredMessage[] = []
  readonly #mediaWanted = new Set<Sequence>()
  #planned: Planned[] = []
  /** To be prepared as soon as there is room for another. */
  readonly #awaitRoom = new Set<Sequence>()

  constructor(parts: ChooserParts) {
    this.#parts = parts
  }

  async choose(): Promise<Choice> {
    const { buffer, rules, blocks, storage, preparation, clock, isEnding } = this.#parts
    const now = clock.now()
    buffer.beginTurn()
    this.#wakeIfRoom()
    for (;;) {
      const found = storage.read(() => buffer.next(now))
      const candidate = found instanceof Promise ? await found : found
      // `stop` or `handOver` may have been called while the message was read.
      if (isEnding()) return NOTHING
      if (!candidate && this.#wakeIfRoom()) continue
      if (!candidate) return this.#nothing(now)
      const { message } = candidate
      const blocked = blocks.ask(message)
      const isBlocked = (typeof blocked === 'boolean' ? blocked : await blocked) ?? false
      if (isEnding()) return NOTHING
      let decision = rules.decide(message, { isReady: preparation?.isReady(message) ?? true, isBlocked })
      if (decision.do !== 'start' && buffer.mustReadFirst(candidate)) continue
      if (decision.do === 'prepare' && preparation) decision = this.#prepare(message, decision, preparation)
      if (decision.do !== 'defer') return { candidate, decision }
      this.defer(message, decision)
    }
  }

  /** The message steps aside. */
  defer(message: QueuedMessage, { retry, reason, until }: Extract<Decision, { do: 'defer' }>): void {
    const { buffer, journal } = this.#parts
    const isNew = buffer.defer(message, this.wakeAt(message, until))
    if (reason !== 'media_uploading') this.#parts.preparation?.leaveRoom(message.sequence)
    if (retry && retry !== message.retry) this.#unsaved.push({ sequence: message.sequence, retry })
    else if (!isNew) return
    journal.record(deferred(message, { reason, until }))
    if (reason === 'media_pending') this.#wantMedia(message.sequence)
  }

  /** When a deferred message is checked again. */
  wakeAt({ acceptedAt }: QueuedMessage, until: Instant | null): Instant {
    const { clock, rules } = this.#parts
    const checkAt = clock.now() + CHECK_DEFERRED_EVERY_MS
    return Math.min(until ?? checkAt, acceptedAt + rules.policy.timeToLiveMs, checkAt)
  }

  /** The waits to write with the next transition; undefined when there are none. */
  takeUnsaved(): readonly DeferredMessage[] | undefined {
    if (this.#unsaved.length === 0) return undefined
    const unsaved = this.#unsaved
    this.#unsaved = []
    return unsaved
  }

  /** The messages to prepare once the transition is committed that records their waits. */
  takePlanned(): readonly Planned[] {
    const planned = this.#planned
    this.#planned = []
    return planned
  }

  /** What was read may have changed. */
  forget(): void {
    this.#mediaWanted.clear()
    this.#awaitRoom.clear()
  }

  mediaSettled(sequence: Sequence): void {
    this.#mediaWanted.delete(sequence)
  }

  /** Decides about a message that is not ready: it is prepared beside the lane. */
  #prepare(
    message: QueuedMessage,
    { budgetMs, until, retry }: Extract<Decision, { do: 'prepare' }>,
    preparation: Preparation,
  ): MessageDecision {
    const reason = 'media_uploading'
    const failed = preparation.takeFailure(message)
    if (failed) return this.#parts.rules.afterPreparing(message, failed)
    const unchanged = { do: 'defer', retry: message.retry, reason, until: null } as const
    const isPlanned = this.#planned.some((planned) => planned.message.sequence === message.sequence)
    if (isPlanned || preparation.isRunning(message)) return unchanged
    if (!preparation.hasRoomBeside(this.#planned.length)) {
      this.#awaitRoom.add(message.sequence)
      return unchanged
    }
    this.#planned.push({ message, budgetMs })
    return { do: 'defer', retry, reason, until }
  }

  /** True when another message is to be decided about, because it can be prepared now. */
  #wakeIfRoom(): boolean {
    const [first] = this.#awaitRoom
    if (first === undefined || !this.#parts.preparation?.hasRoomBeside(this.#planned.length)) return false
    this.#awaitRoom.delete(first)
    this.#parts.buffer.wake(first)
    return true
  }

  #nothing(now: Instant): Choice {
    const { buffer, rules } = this.#parts
    if (buffer.mayHaveMore || buffer.deferredCount === 0) return NOTHING
    const until = buffer.nextCheckAt(now)
    rules.allDeferred(until)
    return { candidate: null, decision: { do: 'await-deferred', until } }
  }

  #wantMedia(sequence: Sequence): void {
    if (this.#mediaWanted.size >= MEDIA_WANTED_AT_ONCE) return
    this.#mediaWanted.add(sequence)
    this.#parts.wantMedia([sequence])
  }
}

export const NOTHING: Choice = { candidate: null, decision: { do: 'idle' } }
