import type { ConnectionId, Instant } from '../../ids.ts'
import { InterruptibleSleep } from '../../interruptible-sleep.ts'
import type { QueuedMessage } from '../../message/message.ts'
import type { ClaimedLane, Step, StepResult } from '../../ports/lanes.ts'
import { type Decision, moveOf } from '../rules/decide-head.ts'
import {
  attemptOf,
  type Begun,
  type Closing,
  closeUncalled,
  dropped,
  endedWith,
  finished,
  handover,
  recordOf,
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

// A lane that waits looks again at least this often, whatever the clocks do meanwhile.
const LONGEST_SLEEP_MS = 15_000

type Written = Extract<StepResult, { fenced: false }>

const IDLE: Decision = { do: 'idle' }
const NOTHING_WRITTEN: Written = { fenced: false, opened: false }

/**
 * Carries the messages of one connection, one at a time.
 *
 *            due message            outcome recorded
 *   IDLE ───────────────▶ SENDING ───────────────▶ (next message, in the same commit)
 *    ▲                       │ nobody knows
 *    │ woken                 ▼
 *   WAITING ◀──────────── EVIDENCE
 *
 *   any state ── claim lost, paused, removed, handed over ──▶ GONE
 *
 * - Never SENDING twice: a primary key in storage guarantees it, not this class.
 * - Pausing and handing over let a running attempt finish. Cutting it off would leave a message whose fate nobody knows.
 */
export class Lane {
  readonly connectionId: ConnectionId
  readonly #parts: LaneParts
  readonly #run: LaneBuffer
  readonly #rest: InterruptibleSleep
  readonly #storage: LaneStoreClient
  readonly #rules: LaneRules
  readonly #blocks: BlockCheck
  /** Null where nothing needs getting ready. */
  readonly #preparation: Preparation | null
  #claimed: ClaimedLane
  #call: ChannelCall | null = null
  #working: Promise<void> | null = null
  #woken = false
  #changed = false
  #ending: LaneEnding | null = null
  #idleSinceMonotonic: number | null = null
  #lookedMonotonic = Number.NEGATIVE_INFINITY

  constructor(claimed: ClaimedLane, parts: LaneParts) {
    this.connectionId = claimed.connectionId
    this.#claimed = claimed
    this.#parts = parts
    this.#rest = new InterruptibleSleep(parts.clock)
    this.#run = new LaneBuffer(parts.lanes, claimed.connectionId)
    this.#rules = new LaneRules(claimed, parts)
    const { lanes, journal, channel } = parts
    this.#storage = new LaneStoreClient({ lanes, journal, rest: this.#rest, ending: () => this.#ending })
    this.#blocks = new BlockCheck(parts.blocked, this.#storage)
    this.#preparation = channel.prepare ? new Preparation({ ...parts, rest: this.#rest }) : null
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

  /** When it last looked and found nothing, by the monotonic clock. */
  get lookedMonotonic(): number {
    return this.#lookedMonotonic
  }

  /** True when it opens nothing more. */
  get isEnding(): boolean {
    return this.#ending !== null
  }

  /** There may be something to do. Cheap, and harmless at any time. */
  wake(): void {
    this.#run.expectMore()
    this.#goRound()
  }

  /** The same, of a message that was accepted here a moment ago: it need not be looked for. */
  accept(message: QueuedMessage): void {
    if (this.#run.add(message)) this.#goRound()
    else this.wake()
  }

  #goRound(): void {
    if (this.#ending) return
    this.#woken = true
    if (this.#working) return
    this.#working = this.#work()
      .catch((error: unknown) => {
        this.#parts.journal.record({ event: 'fault', where: 'lane', error })
        this.#leave()
      })
      .finally(() => {
        this.#working = null
        if (this.#woken) this.#goRound()
      })
  }

  /** Somebody changed the connection, its messages or their media: believe nothing that was loaded. */
  change(): void {
    this.#changed = true
    this.#rest.interrupt()
    this.wake()
  }

  /** Ends a call that is overdue, or that goes on after the claim has run out. */
  sweep(): void {
    if (this.#call && !this.#parts.claim.holds()) this.#call.abort()
    this.#call?.sweep()
    this.#preparation?.sweep()
  }

  /** Lets the running attempt finish and be recorded, and opens nothing more. What is only being got ready is cut short. */
  async stop(): Promise<void> {
    if (this.#ending !== 'gone') this.#ending = 'stop'
    this.#preparation?.cut()
    this.#rest.interrupt()
    await this.#working
  }

  /**
   * The same, and then lets the lane go: it is for another worker. Whatever the lane waits for, evidence too, it does
   * not wait for here.
   */
  handOver(): void {
    if (this.#ending) return
    this.#ending = 'hand-over'
    this.#preparation?.cut()
    this.#rest.interrupt()
    void Promise.resolve(this.#working).then(() => this.#leave())
  }

  abortCall(): void {
    this.#call?.abort()
  }

  /** Lets go at once, as if the worker had died: what is open stays open. */
  drop(): void {
    this.#call?.abort()
    this.#leave()
  }

  async #work(): Promise<void> {
    let closing = await this.#recover()
    while (this.#ending !== 'gone') {
      this.#woken = false
      if (closing?.close.disposition.do === 'await-evidence') {
        closing = await this.#gatherEvidence(closing)
        if (!closing) return
        continue
      }
      if (this.#changed && !closing && !(await this.#lookAgain())) return
      const close = closing?.close ?? null
      const mayOpen = this.#claimed.mayOpen && !this.#ending
      const head = mayOpen ? await this.#storage.read(() => this.#run.head(close)) : null
      if (head || close) this.#idleSinceMonotonic = null
      const blocked = head !== null && this.#blocks.ask(head)
      const isBlocked = (typeof blocked === 'boolean' ? blocked : await blocked) ?? false
      // Looked at again: while the head was loaded, the lane may have been told to end.
      const isReady = head !== null && (this.#preparation?.isReady(head) ?? true)
      const decision = head && !this.#ending ? this.#rules.decide(head, { isReady, isBlocked }) : IDLE
      if (this.#run.looksFirst(decision.do)) continue
      const { term } = this.#parts.claim
      const written = await this.#commit(this.#step(close, head, decision))
      // Given up while the step was on its way: what it opened is for whoever takes the lane.
      if (!written || this.#isGone) return
      closing = null
      if (head && written.opened) closing = await this.#attempt(head, term)
      else if (!(await this.#goOn(head, decision, term))) return
    }
  }

  /** After a step that opened nothing. False when the lane rests. */
  async #goOn(head: QueuedMessage | null, decision: Decision, term: number): Promise<boolean> {
    switch (decision.do) {
      case 'drop':
        this.#run.pass()
        if (head) this.#parts.journal.record(dropped(head, decision))
        return true
      case 'prepare':
        if (!head) return true
        if (this.#rules.wait) this.#parts.journal.record(waits(this.connectionId, this.#rules.wait))
        return this.#prepare(head, decision.budgetMs, term)
      case 'wait':
        await this.#waitItOut(head)
        return !this.#ending
      case 'open':
        // The head is no longer waiting, or the connection may not open: somebody was faster.
        this.#changed = true
        return true
      case 'idle':
        if (!this.#claimed.mayOpen) this.#leave()
        if (this.#ending) return false
        if (this.#woken || this.#changed) return true
        this.#lookedMonotonic = this.#parts.clock.monotonic()
        this.#idleSinceMonotonic ??= this.#lookedMonotonic
        return false
    }
  }

  /** False when the lane rests, ends or is gone. */
  async #prepare(head: QueuedMessage, budgetMs: number, term: number): Promise<boolean> {
    // Told during the commit, when there was nothing to cut short yet.
    if (this.#ending || this.#changed) return !this.#ending
    const { channelSettings } = this.#claimed
    const startedAt = this.#parts.clock.now()
    const prepared = await this.#preparation?.run(head.sequence, {
      handover: handover(this.#claimed, attemptOf(head, startedAt)),
      budgetMs,
      term,
      isWanted: () => this.#isStillWanted(head, channelSettings),
    })
    if (this.#ending) return false
    if (prepared?.kind !== 'failed') {
      // Cut short. If others have had the lane meanwhile, the next step is refused.
      if (!prepared) await this.#parts.claim.held()
      return !this.#ending
    }
    const decision = this.#rules.afterPreparing(head, startedAt, prepared.failure)
    const written = await this.#commit(this.#step(null, head, decision))
    return written !== null && !this.#isGone && this.#goOn(head, decision, term)
  }

  /** Whether what is being got ready is the head still, of a connection that may send and is what it was. */
  async #isStillWanted(head: QueuedMessage, settings: ClaimedLane['channelSettings']): Promise<boolean> {
    do {
      if (this.#ending || !(await this.#lookAgain())) return false
      const { mayOpen, channelSettings } = this.#claimed
      if (!mayOpen || JSON.stringify(channelSettings) !== JSON.stringify(settings)) return false
      const now = await this.#storage.read(() => this.#run.head(null))
      if (now?.sequence !== head.sequence || now.media?.kind !== 'ready') return false
    } while (this.#changed)
    return true
  }

  #step(close: Step['close'], head: QueuedMessage | null, decision: Decision): Step {
    const { connectionId, epoch } = this
    const [at, settledThrough] = [this.#parts.clock.now(), this.#run.takeSettledThrough()]
    const moves = moveOf(head, decision, this.#run.isLowest)
    const memory = this.#rules.unsaved
    return { connectionId, epoch, at, close, ...moves, settledThrough, ...(memory && { memory }) }
  }

  /** Null when the lane is gone. While storage cannot be written nothing new begins, and no outcome is given up. */
  async #commit(step: Step): Promise<Written | null> {
    if (!step.close && !step.open && !step.drop && !step.memory) return NOTHING_WRITTEN
    const result = await this.#storage.record(step)
    if (result?.fenced) this.#leave()
    if (!result || result.fenced) return null
    if (step.memory) this.#rules.saved(step.memory)
    if (result.opened) this.#rules.opened(step.at)
    return result
  }

  /** The attempt is committed: now the one call that can have an effect. */
  async #attempt(head: QueuedMessage, term: number): Promise<Closing> {
    const { clock, channel, claim, journal } = this.#parts
    const begun = attemptOf(head, this.#rules.lastAttemptAt ?? clock.now())
    this.#preparation?.use()
    // Once more, because the commit may have taken long: who has asked to stop meanwhile is not written to (G13). The next
    // look at the head fails it.
    const blocked = this.#blocks.ask(head)
    const isBlocked = typeof blocked === 'boolean' ? blocked : await blocked
    if (isBlocked) return closeUncalled(begun, clock.now(), 'recipient_blocked')
    // Nobody answered until the lane came to its end, or it was given up while the answer was on its way: no call.
    if (isBlocked === null || this.#isGone) return closeUncalled(begun, clock.now(), 'call_interrupted')
    // The last look before the wire: from here on nothing can stop a call but the channel itself (G6). A claim that ran
    // out and was renewed since the attempt was recorded is no better: in between, others may have taken the lane.
    const stillHolds = () => claim.holds() && claim.term === term
    if (!stillHolds()) return this.#interrupted(begun)
    this.#call = new ChannelCall(clock, channel.capabilities.callBudgetMs, stillHolds)
    const outcome = await this.#call.run(channel, handover(this.#claimed, begun), journal)
    this.#call = null
    return this.#close(begun, { outcome, evidenceRequested: false })
  }

  /** The claim ran out before the call, so there was no call. Goes on once the claim holds again, if the lane is still ours. */
  async #interrupted(begun: Begun): Promise<Closing> {
    this.#parts.journal.record({ event: 'claim.expired' })
    await this.#parts.claim.held()
    return closeUncalled(begun, this.#parts.clock.now(), 'call_interrupted')
  }

  #close(begun: Begun, { outcome, evidenceRequested }: Found): Closing {
    const { clock, journal } = this.#parts
    const ended: EndedAttempt = { ...endedWith(begun, clock.now(), outcome), evidenceRequested }
    const disposition = this.#rules.afterAttempt(ended)
    const attempt = recordOf(ended)
    const close = { attempt, disposition }
    // A lane that was given up records nothing, so it tells nothing either; and an attempt ends once.
    if (!this.#isGone && disposition.do !== 'await-evidence')
      journal.record(finished(this.#claimed, begun.message, close))
    return { ...begun, close }
  }

  /** Brings an attempt to an end that another worker, or this one before, left open. */
  async #recover(): Promise<Closing | null> {
    const { open } = this.#claimed
    if (!open) return null
    this.#claimed = { ...this.#claimed, open: null }
    const { evidenceUntil, ...begun } = open
    if (evidenceUntil !== null)
      return this.#requestEvidenceUntil(begun, evidenceUntil, 'the line broke while it was being handed over')
    this.#parts.journal.record({
      event: 'attempt.recovered',
      messageId: begun.message.id,
      connectionId: this.connectionId,
      crashes: begun.crashes,
    })
    return this.#close(begun, await requestEvidenceAfterCrash(this.#parts, begun))
  }

  /** Null when the lane is gone or stops; the attempt stays open then, and the wait goes on with whoever takes it. */
  async #gatherEvidence(closing: Closing): Promise<Closing | null> {
    const { disposition } = closing.close
    if (disposition.do !== 'await-evidence' || !(await this.#commit(this.#step(closing.close, null, IDLE)))) return null
    return this.#requestEvidenceUntil(closing, disposition.until, disposition.words)
  }

  async #requestEvidenceUntil(begun: Begun, until: Instant, words: string): Promise<Closing | null> {
    const parts = { ...this.#parts, rest: this.#rest, goesOn: () => !this.#ending }
    const found = await requestEvidenceUntil(parts, begun, { until, words })
    return found && this.#close(begun, found)
  }

  /** Loads afresh what somebody changed. False when the lane is gone, or what is open in it is not its own: whoever takes it asks. */
  async #lookAgain(): Promise<boolean> {
    this.#changed = false
    const { connectionId, epoch } = this
    const claimed = await this.#storage.read(() => this.#parts.lanes.inspect({ connectionId, epoch }))
    if (!claimed || claimed.open) {
      this.#leave()
      return false
    }
    this.#claimed = claimed
    this.#rules.reload(claimed)
    this.#run.forget()
    return true
  }

  async #waitItOut(head: QueuedMessage | null): Promise<void> {
    const { wait, isResting } = this.#rules
    if (!wait || this.#ending || this.#changed) return
    this.#parts.journal.record(waits(this.connectionId, wait))
    if (wait.reason === 'media_pending' && head) this.#parts.wantMedia([head.sequence])
    await this.#rest.sleep(
      Math.min(LONGEST_SLEEP_MS, wait.until === null ? LONGEST_SLEEP_MS : wait.until - this.#parts.clock.now()),
    )
    // Being told that the head was cancelled or its media arrived only saves time: this look is the truth.
    if (!isResting) this.#changed = true
  }

  get #isGone(): boolean {
    return this.#ending === 'gone'
  }

  #leave(): void {
    if (this.#isGone) return
    this.#ending = 'gone'
    this.#preparation?.cut()
    this.#woken = false
    this.#rest.interrupt()
    this.#parts.onGone(this)
  }
}
