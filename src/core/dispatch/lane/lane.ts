import type { ConnectionId, Instant } from '../../ids.ts'
import { InterruptibleSleep } from '../../interruptible-sleep.ts'
import type { QueuedMessage } from '../../message/message.ts'
import type { ClaimedLane, LaneTransition, LaneTransitionResult } from '../../ports/lanes.ts'
import { type Decision, transitionOf } from '../rules/decide-head.ts'
import {
  attemptOf,
  discarded,
  endedWith,
  type FinishedAttempt,
  finished,
  finishUncalled,
  handover,
  recordOf,
  type StartedAttempt,
  waits,
} from '../rules/describe-attempt.ts'
import type { EndedAttempt } from '../rules/next-step.ts'
import { ChannelCall } from './attempt.ts'
import { BlockCheck } from './block-check.ts'
import { type Found, requestEvidenceAfterCrash, requestEvidenceUntil } from './gather-evidence.ts'
import { LaneBuffer } from './lane-buffer.ts'
import type { LaneParts } from './lane-parts.ts'
import { LaneRules } from './lane-rules.ts'
import { type LaneEnding, LaneStoreClient } from './lane-store-client.ts'
import { Preparation } from './preparation.ts'

// A waiting lane checks again at least this often, because a clock that is set may make a wait too long.
const LONGEST_SLEEP_MS = 15_000

type Written = Extract<LaneTransitionResult, { fenced: false }>

const IDLE: Decision = { do: 'idle' }
const NOTHING_WRITTEN: Written = { fenced: false, started: false }

/**
 * Carries the messages of one connection, one at a time.
 *
 *            due message            outcome recorded
 *   IDLE ───────────────▶ SENDING ───────────────▶ (next message, in the same commit)
 *    ▲                       │ result unknown
 *    │ woken                 ▼
 *   WAITING ◀──────────── EVIDENCE
 *
 *   any state ── claim lost, paused, removed, handed over ──▶ GONE
 *
 * - Never SENDING twice: a primary key in storage guarantees it, not this class.
 * - Pausing and handing over let a running attempt finish. Cutting it off would leave a message with an unknown result.
 */
export class Lane {
  readonly connectionId: ConnectionId
  readonly #parts: LaneParts
  readonly #buffer: LaneBuffer
  readonly #sleeper: InterruptibleSleep
  readonly #storage: LaneStoreClient
  readonly #rules: LaneRules
  readonly #blocks: BlockCheck
  /** Null where the channel has no `prepare`. */
  readonly #preparation: Preparation | null
  #claimed: ClaimedLane
  #call: ChannelCall | null = null
  #working: Promise<void> | null = null
  #woken = false
  #changed = false
  #ending: LaneEnding | null = null
  #idleSinceMonotonic: number | null = null
  #polledMonotonic = Number.NEGATIVE_INFINITY

  constructor(claimed: ClaimedLane, parts: LaneParts) {
    this.connectionId = claimed.connectionId
    this.#claimed = claimed
    this.#parts = parts
    this.#sleeper = new InterruptibleSleep(parts.clock)
    this.#buffer = new LaneBuffer(parts.lanes, claimed.connectionId)
    this.#rules = new LaneRules(claimed, parts)
    const { lanes, journal, channel } = parts
    this.#storage = new LaneStoreClient({ lanes, journal, sleeper: this.#sleeper, ending: () => this.#ending })
    this.#blocks = new BlockCheck(parts.blocked, this.#storage)
    this.#preparation = channel.prepare ? new Preparation({ ...parts, sleeper: this.#sleeper }) : null
  }

  get epoch(): number {
    return this.#claimed.epoch
  }

  /** What it does, or the reason that it waits for. */
  get status(): string {
    if (this.#call) return 'sending'
    return this.#working ? (this.#rules.wait?.reason ?? 'busy') : 'idle'
  }

  /** Since when it has had nothing to do, by the monotonic clock; null while it has. */
  get idleSinceMonotonic(): number | null {
    return this.#working ? null : this.#idleSinceMonotonic
  }

  /** When it last polled storage and found nothing, by the monotonic clock. */
  get polledMonotonic(): number {
    return this.#polledMonotonic
  }

  /** True when it starts no more attempts. */
  get isEnding(): boolean {
    return this.#ending !== null
  }

  /** There may be something to do. Cheap, and harmless at any time. */
  wake(): void {
    this.#buffer.expectMore()
    this.#schedule()
  }

  /** As `wake`, for a message that this process has just accepted: it need not be read from storage. */
  accept(message: QueuedMessage): void {
    if (this.#buffer.add(message)) this.#schedule()
    else this.wake()
  }

  #schedule(): void {
    if (this.#ending) return
    this.#woken = true
    if (this.#working) return
    this.#working = this.#work()
      .catch((error: unknown) => {
        this.#parts.journal.record({ event: 'fault', where: 'lane', error })
        this.#letGo()
      })
      .finally(() => {
        this.#working = null
        if (this.#woken) this.#schedule()
      })
  }

  /** The connection, its messages or their media have changed: loads everything again. */
  change(): void {
    this.#changed = true
    this.#sleeper.interrupt()
    this.wake()
  }

  /** Ends a call that is overdue or has outlived the lease. */
  sweep(): void {
    if (this.#call && !this.#parts.lease.isHeld()) this.#call.abort()
    this.#call?.sweep()
    this.#preparation?.sweep()
  }

  /** Lets the running attempt finish and be recorded, and starts no other. A running preparation is aborted. */
  async stop(): Promise<void> {
    if (this.#ending !== 'gone') this.#ending = 'stop'
    this.#preparation?.cut()
    this.#sleeper.interrupt()
    await this.#working
  }

  /** As `stop`, then releases the lane for another worker. It does not wait for evidence: the next worker does. */
  handOver(): void {
    if (this.#ending) return
    this.#ending = 'hand-over'
    this.#preparation?.cut()
    this.#sleeper.interrupt()
    void Promise.resolve(this.#working).then(() => this.#letGo())
  }

  abortCall(): void {
    this.#call?.abort()
  }

  /** Releases the lane at once, as if the worker had died: an open attempt stays open. */
  drop(): void {
    this.#call?.abort()
    this.#letGo()
  }

  async #work(): Promise<void> {
    let finishing = await this.#recover()
    while (this.#ending !== 'gone') {
      this.#woken = false
      if (finishing?.finish.disposition.do === 'await-evidence') {
        finishing = await this.#gatherEvidence(finishing)
        if (!finishing) return
        continue
      }
      if (this.#changed && !finishing && !(await this.#reload())) return
      const finish = finishing?.finish ?? null
      const mayOpen = this.#claimed.mayOpen && !this.#ending
      const head = mayOpen ? await this.#storage.read(() => this.#buffer.head(finish)) : null
      if (head || finish) this.#idleSinceMonotonic = null
      const blocked = head !== null && this.#blocks.ask(head)
      const isBlocked = (typeof blocked === 'boolean' ? blocked : await blocked) ?? false
      // Checked again, because `stop` or `handOver` may have been called while the head was loaded.
      const isReady = head !== null && (this.#preparation?.isReady(head) ?? true)
      const decision = head && !this.#ending ? this.#rules.decide(head, { isReady, isBlocked }) : IDLE
      if (this.#buffer.mustFetchFirst(decision.do)) continue
      const { generation } = this.#parts.lease
      const written = await this.#commit(this.#transition(finish, head, decision))
      // The lane was released during the commit: the next worker finishes the attempt that it started.
      if (!written || this.#isGone) return
      finishing = null
      if (head && written.started) finishing = await this.#attempt(head, generation)
      else if (!(await this.#afterTransition(head, decision, generation))) return
    }
  }

  /** After a transition that started nothing. False when the lane becomes idle. */
  async #afterTransition(head: QueuedMessage | null, decision: Decision, generation: number): Promise<boolean> {
    switch (decision.do) {
      case 'discard':
        this.#buffer.pass()
        if (head) this.#parts.journal.record(discarded(head, decision))
        return true
      case 'prepare':
        if (!head) return true
        if (this.#rules.wait) this.#parts.journal.record(waits(this.connectionId, this.#rules.wait))
        return this.#prepare(head, decision.budgetMs, generation)
      case 'wait':
        await this.#waitItOut(head)
        return !this.#ending
      case 'start':
        // The head was cancelled, or the connection was paused, since they were loaded.
        this.#changed = true
        return true
      case 'idle':
        if (!this.#claimed.mayOpen) this.#letGo()
        if (this.#ending) return false
        if (this.#woken || this.#changed) return true
        this.#polledMonotonic = this.#parts.clock.monotonic()
        this.#idleSinceMonotonic ??= this.#polledMonotonic
        return false
    }
  }

  /** False when the lane becomes idle, ends or is gone. */
  async #prepare(head: QueuedMessage, budgetMs: number, generation: number): Promise<boolean> {
    // `stop`, `handOver` or `change` was called during the commit, when no preparation could be aborted yet.
    if (this.#ending || this.#changed) return !this.#ending
    const { channelSettings } = this.#claimed
    const startedAt = this.#parts.clock.now()
    const prepared = await this.#preparation?.run(head.sequence, {
      handover: handover(this.#claimed, attemptOf(head, startedAt)),
      budgetMs,
      generation,
      isWanted: () => this.#isStillWanted(head, channelSettings),
    })
    if (this.#ending) return false
    if (prepared?.kind !== 'failed') {
      // Aborted. If another worker has had the lane since, storage refuses the next transition.
      if (!prepared) await this.#parts.lease.untilHeld()
      return !this.#ending
    }
    const decision = this.#rules.afterPreparing(head, startedAt, prepared.failure)
    const written = await this.#commit(this.#transition(null, head, decision))
    return written !== null && !this.#isGone && this.#afterTransition(head, decision, generation)
  }

  /** Whether the message being prepared is still the head, and its connection may send with the same settings. */
  async #isStillWanted(head: QueuedMessage, settings: ClaimedLane['channelSettings']): Promise<boolean> {
    do {
      if (this.#ending || !(await this.#reload())) return false
      const { mayOpen, channelSettings } = this.#claimed
      if (!mayOpen || JSON.stringify(channelSettings) !== JSON.stringify(settings)) return false
      const now = await this.#storage.read(() => this.#buffer.head(null))
      if (now?.sequence !== head.sequence || now.media?.kind !== 'ready') return false
    } while (this.#changed)
    return true
  }

  #transition(finish: LaneTransition['finish'], head: QueuedMessage | null, decision: Decision): LaneTransition {
    const { connectionId, epoch } = this
    const [at, settledThrough] = [this.#parts.clock.now(), this.#buffer.takeSettledThrough()]
    const moves = transitionOf(head, decision, this.#buffer.isLowest)
    const memory = this.#rules.unsaved
    return { connectionId, epoch, at, finish, ...moves, settledThrough, ...(memory && { memory }) }
  }

  /** Null when the lane is gone. While storage is unavailable, nothing new starts and no outcome is lost. */
  async #commit(transition: LaneTransition): Promise<Written | null> {
    if (!transition.finish && !transition.start && !transition.discard && !transition.memory) return NOTHING_WRITTEN
    const result = await this.#storage.record(transition)
    if (result?.fenced) this.#letGo()
    if (!result || result.fenced) return null
    if (transition.memory) this.#rules.saved(transition.memory)
    if (result.started) this.#rules.opened(transition.at)
    return result
  }

  /** The attempt is committed: now the one call that can have an effect. */
  async #attempt(head: QueuedMessage, generation: number): Promise<FinishedAttempt> {
    const { clock, channel, lease, journal } = this.#parts
    const started = attemptOf(head, this.#rules.lastAttemptAt ?? clock.now())
    this.#preparation?.use()
    // Checked again, because the commit may have taken long: a recipient who opted out meanwhile gets no message (G13). The
    // next decision about the head fails it.
    const blocked = this.#blocks.ask(head)
    const isBlocked = typeof blocked === 'boolean' ? blocked : await blocked
    if (isBlocked) return finishUncalled(started, clock.now(), 'recipient_blocked')
    // The lane ended or was released before the answer came: no call.
    if (isBlocked === null || this.#isGone) return finishUncalled(started, clock.now(), 'call_interrupted')
    // The last check before the call: from here on only the channel can stop it (G6). A lease that expired and was renewed
    // since the attempt was recorded does not count: another worker may have had the lane in between.
    const stillHolds = () => lease.isHeld() && lease.generation === generation
    if (!stillHolds()) return this.#interrupted(started)
    this.#call = new ChannelCall(clock, channel.capabilities.callBudgetMs, stillHolds)
    const outcome = await this.#call.run(channel, handover(this.#claimed, started), journal)
    this.#call = null
    return this.#finish(started, { outcome, evidenceRequested: false })
  }

  /** The lease expired before the call, so there was none. Resolves once the lease is held again. */
  async #interrupted(started: StartedAttempt): Promise<FinishedAttempt> {
    this.#parts.journal.record({ event: 'claim.expired' })
    await this.#parts.lease.untilHeld()
    return finishUncalled(started, this.#parts.clock.now(), 'call_interrupted')
  }

  #finish(started: StartedAttempt, { outcome, evidenceRequested }: Found): FinishedAttempt {
    const { clock, journal } = this.#parts
    const ended: EndedAttempt = { ...endedWith(started, clock.now(), outcome), evidenceRequested }
    const disposition = this.#rules.afterAttempt(ended)
    const attempt = recordOf(ended)
    const finish = { attempt, disposition }
    // A released lane writes no outcome, so it reports none; and each attempt is reported once.
    if (!this.#isGone && disposition.do !== 'await-evidence')
      journal.record(finished(this.#claimed, started.message, finish))
    return { ...started, finish }
  }

  /** Finishes an attempt that another worker, or this one before a restart, left open. */
  async #recover(): Promise<FinishedAttempt | null> {
    const { open } = this.#claimed
    if (!open) return null
    this.#claimed = { ...this.#claimed, open: null }
    const { evidenceUntil, ...started } = open
    if (evidenceUntil !== null)
      return this.#requestEvidenceUntil(started, evidenceUntil, 'the line broke while it was being handed over')
    this.#parts.journal.record({
      event: 'attempt.recovered',
      messageId: started.message.id,
      connectionId: this.connectionId,
      crashes: started.crashes,
    })
    return this.#finish(started, await requestEvidenceAfterCrash(this.#parts, started))
  }

  /** Null when the lane is gone or stops. The attempt stays open then, and the next worker goes on waiting. */
  async #gatherEvidence(finishing: FinishedAttempt): Promise<FinishedAttempt | null> {
    const { disposition } = finishing.finish
    if (disposition.do !== 'await-evidence' || !(await this.#commit(this.#transition(finishing.finish, null, IDLE))))
      return null
    return this.#requestEvidenceUntil(finishing, disposition.until, disposition.words)
  }

  async #requestEvidenceUntil(started: StartedAttempt, until: Instant, words: string): Promise<FinishedAttempt | null> {
    const parts = { ...this.#parts, sleeper: this.#sleeper, goesOn: () => !this.#ending }
    const found = await requestEvidenceUntil(parts, started, { until, words })
    return found && this.#finish(started, found)
  }

  /** False when the lane is gone, or has an open attempt that is not its own: the next worker recovers it. */
  async #reload(): Promise<boolean> {
    this.#changed = false
    const { connectionId, epoch } = this
    const claimed = await this.#storage.read(() => this.#parts.lanes.inspect({ connectionId, epoch }))
    if (!claimed || claimed.open) {
      this.#letGo()
      return false
    }
    this.#claimed = claimed
    this.#rules.reload(claimed)
    this.#buffer.forget()
    return true
  }

  async #waitItOut(head: QueuedMessage | null): Promise<void> {
    const { wait, isResting } = this.#rules
    if (!wait || this.#ending || this.#changed) return
    this.#parts.journal.record(waits(this.connectionId, wait))
    if (wait.reason === 'media_pending' && head) this.#parts.wantMedia([head.sequence])
    await this.#sleeper.sleep(
      Math.min(LONGEST_SLEEP_MS, wait.until === null ? LONGEST_SLEEP_MS : wait.until - this.#parts.clock.now()),
    )
    // Notifications of a cancelled head or of arrived media only cut latency: reloading is authoritative.
    if (!isResting) this.#changed = true
  }

  get #isGone(): boolean {
    return this.#ending === 'gone'
  }

  #letGo(): void {
    if (this.#isGone) return
    this.#ending = 'gone'
    this.#preparation?.cut()
    this.#woken = false
    this.#sleeper.interrupt()
    this.#parts.onGone(this)
  }
}
