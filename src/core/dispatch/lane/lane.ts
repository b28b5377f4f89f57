import type { ConnectionId, Instant } from '../../ids.ts'
import { InterruptibleSleep } from '../../interruptible-sleep.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { ClaimedLane, LaneTransition, LaneTransitionResult, LaneWait } from '../../ports/lanes.ts'
import { transitionOf } from '../rules/decide-message.ts'
import { deferred, discarded, type FinishedAttempt, waits } from '../rules/describe-attempt.ts'
import { BlockCheck } from './block-check.ts'
import { type Choice, MessageChooser, NOTHING } from './choose-message.ts'
import { LaneBuffer } from './lane-buffer.ts'
import type { LaneParts } from './lane-parts.ts'
import { LaneRules } from './lane-rules.ts'
import { LaneSession } from './lane-session.ts'
import { type LaneEnding, LaneStoreClient } from './lane-store-client.ts'
import { Preparation } from './preparation.ts'
import { AttemptRunner } from './run-attempt.ts'

// A waiting lane checks again at least this often, because a clock that is set may make a wait too long.
const LONGEST_SLEEP_MS = 15_000

type Written = Extract<LaneTransitionResult, { fenced: false }>

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
 *   any state ── claim lost, paused (unless a session is kept), removed, handed over ──▶ GONE
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
  readonly #attempts: AttemptRunner
  readonly #chooser: MessageChooser
  /** Null where the channel has no `prepare`. */
  readonly #preparation: Preparation | null
  /** Null where the channel has no sessions. */
  readonly #session: LaneSession | null
  #claimed: ClaimedLane
  #working: Promise<void> | null = null
  #woken = false
  #changed = false
  #awaitsDeferred = false
  /** The wait that was recorded when the lane last fell asleep, so that each is recorded once. */
  #reported: LaneWait | null = null
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
    const blocks = new BlockCheck(parts.blocked, this.#storage)
    const onEnded = (sequence: Sequence) => this.#wakeMessage(sequence)
    const onOutdated = () => this.change()
    this.#preparation = channel.prepare ? new Preparation({ ...parts, lane: this, onEnded, onOutdated }) : null
    this.#session = channel.sessions ? new LaneSession(claimed, { ...parts, sessions: channel.sessions }) : null
    this.#chooser = new MessageChooser({
      ...parts,
      buffer: this.#buffer,
      rules: this.#rules,
      blocks,
      storage: this.#storage,
      preparation: this.#preparation,
      isEnding: () => this.isEnding,
    })
    this.#attempts = new AttemptRunner({
      ...parts,
      rules: this.#rules,
      blocks,
      sleeper: this.#sleeper,
      claimed: () => this.#claimed,
      ending: () => this.#ending,
    })
  }

  get epoch(): number {
    return this.#claimed.epoch
  }

  /** What it does, or why it waits. */
  get status(): string {
    if (this.#attempts.isCalling) return 'sending'
    return this.#working ? (this.#rules.wait?.reason ?? 'busy') : 'idle'
  }

  /** Its session is to stay open, so it is kept with nothing to do. */
  get isKept(): boolean {
    return this.#session?.keepsLane === true
  }

  /** Since when it has had nothing to do, by the monotonic clock; null while it has. */
  get idleSinceMonotonic(): number | null {
    return this.#working ? null : this.#idleSinceMonotonic
  }

  /** When it last polled storage and found nothing, by the monotonic clock. */
  get polledMonotonic(): number {
    return this.#polledMonotonic
  }

  /** How many of its messages are deferred, or wait behind one that is. */
  get deferredCount(): number {
    return this.#buffer.deferredCount
  }

  /** True when it starts no more attempts. */
  get isEnding(): boolean {
    return this.#ending !== null
  }

  /** A notification may have been lost. For a lane that is kept, no claim would notice that it was resumed or removed. */
  poll(): void {
    this.isKept ? this.change() : this.wake()
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
    if (this.#awaitsDeferred) this.#sleeper.interrupt()
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

  /** The file of a message arrived, or the message failed without it. */
  mediaSettled(sequence: Sequence): void {
    this.#chooser.mediaSettled(sequence)
    this.#wakeMessage(sequence)
  }

  /** What this message waited for may be over. */
  #wakeMessage(sequence: Sequence): void {
    this.#buffer.wake(sequence)
    this.#schedule()
  }

  /** The connection or its messages have changed: loads everything again. */
  change(): void {
    this.#changed = true
    this.#preparation?.check()
    this.#sleeper.interrupt()
    this.wake()
  }

  /** Ends what is overdue or has outlived the lease. */
  sweep(): void {
    this.#attempts.sweep()
    this.#preparation?.sweep()
    if (this.#session?.isDoubtful && this.#parts.lease.isHeld()) this.change()
  }

  /** Null when there is nothing to close. For a lane that has ended, before it is released. */
  closeSession(): Promise<void> | null {
    return this.#session?.close() ?? null
  }

  /** Lets the running attempt finish and be recorded, and starts no other. Running preparations are aborted. */
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
    this.#attempts.abort()
  }

  /** Releases the lane at once, as if the worker had died: an open attempt stays open. */
  drop(): void {
    this.#attempts.abort()
    this.#letGo()
  }

  async #work(): Promise<void> {
    const { open } = this.#claimed
    this.#claimed = { ...this.#claimed, open: null }
    let finishing = open && (await this.#attempts.recover(open))
    while (this.#ending !== 'gone') {
      this.#woken = false
      if (finishing?.finish.disposition.do === 'await-evidence') {
        finishing = await this.#gatherEvidence(finishing)
        if (!finishing) return
        continue
      }
      if (this.#changed && !finishing && !(await this.#reload())) return
      if (finishing) this.#buffer.finish(finishing, this.#wakeAtAfter(finishing))
      const finish = finishing?.finish ?? null
      const choice = this.#claimed.mayOpen && !this.#ending ? await this.#chooser.choose() : NOTHING
      const message = choice.candidate?.message ?? null
      if (message || finish) this.#idleSinceMonotonic = null
      const { generation } = this.#parts.lease
      const written = await this.#commit(this.#transition(finish, choice), choice)
      // The lane was released during the commit: the next worker finishes the attempt that it started.
      if (!written || this.#isGone) return
      finishing = null
      this.#startPreparing(generation)
      if (message && written.started) {
        this.#preparation?.drop(message.sequence)
        finishing = await this.#attempts.run(message, generation)
      } else if (!(await this.#afterTransition(choice, written))) return
    }
  }

  /** When a message whose attempt has ended is checked again; 0: it goes next. */
  #wakeAtAfter({ message, finish: { disposition } }: FinishedAttempt): Instant {
    const wait = disposition.do === 'keep-queued' ? disposition.retry?.wait : null
    if (!wait || wait === message.retry?.wait) return 0
    this.#parts.journal.record(deferred(message, wait))
    return this.#chooser.wakeAt(message, wait.until)
  }

  /** After a transition that started nothing. False when the lane becomes idle. */
  async #afterTransition({ candidate, decision }: Choice, written: Written): Promise<boolean> {
    const message = candidate?.message ?? null
    switch (decision.do) {
      case 'discard':
        if (!message) return true
        this.#buffer.discarded(message)
        this.#preparation?.drop(message.sequence)
        this.#parts.journal.record(discarded(message, decision))
        return true
      case 'wait':
      case 'await-deferred':
        await (decision.do === 'wait' ? this.#waitItOut() : this.#awaitDeferred(decision.until))
        return !this.#ending
      case 'start':
        // The message was cancelled, or the connection was paused, since they were loaded.
        this.#changed = true
        return true
      case 'defer':
      case 'prepare':
        return true
      case 'idle':
        if (!this.#claimed.mayOpen && !this.isKept) this.#letGo()
        if (this.#ending) return false
        if (this.#woken || this.#changed) return true
        if (this.#claimed.mayOpen && this.#buffer.mayHaveMore) {
          // A lane that passes a hundred thousand deferred messages leaves others their turns.
          if (written === NOTHING_WRITTEN) await this.#sleeper.sleep(0)
          return true
        }
        this.#polledMonotonic = this.#parts.clock.monotonic()
        this.#idleSinceMonotonic ??= this.#polledMonotonic
        return false
    }
  }

  /** Their waits are committed, so the lane was this worker's. What has changed since is decided again. */
  #startPreparing(generation: number): void {
    const planned = this.#chooser.takePlanned()
    if (this.#ending || this.#changed) return
    for (const { message, budgetMs } of planned)
      this.#preparation?.start(message, { claimed: this.#claimed, budgetMs, generation })
  }

  #transition(finish: LaneTransition['finish'], { candidate, decision }: Choice): LaneTransition {
    const { connectionId, accountId, epoch } = this.#claimed
    const of = { connectionId, accountId, epoch, finish }
    const [at, memory, waiting] = [this.#parts.clock.now(), this.#rules.unsaved, this.#chooser.takeUnsaved()]
    const moves = transitionOf(candidate?.message ?? null, decision, candidate?.knownThrough ?? null)
    const notesAttempt = moves.start !== null && this.#rules.notesAttempt(at, this.#buffer.deferredCount > 0)
    return {
      ...of,
      at,
      ...moves,
      ...(memory && { memory }),
      ...(waiting && { deferred: waiting }),
      ...(notesAttempt && { notesAttempt }),
    }
  }

  /** Null when the lane is gone. While storage is unavailable, nothing new starts and no outcome is lost. */
  async #commit(transition: LaneTransition, { candidate }: Choice): Promise<Written | null> {
    const { finish, start, discard, memory, deferred: waiting } = transition
    if (!finish && !start && !discard && !memory && !waiting) return NOTHING_WRITTEN
    // While an attempt is open, what the lane has passed contains its message.
    const passed = finish?.disposition.do === 'await-evidence' ? [] : this.#buffer.takePassed()
    const result = await this.#storage.record(passed.length > 0 ? { ...transition, passed } : transition)
    if (result?.fenced) this.#letGo()
    if (!result || result.fenced) return null
    if (memory) this.#rules.saved(memory)
    if (result.started && candidate) {
      this.#rules.opened(transition.at, transition.notesAttempt === true)
      this.#buffer.taken(candidate.message)
    }
    return result
  }

  /** Null when the lane is gone or stops. The attempt stays open then, and the next worker goes on waiting. */
  async #gatherEvidence(finishing: FinishedAttempt): Promise<FinishedAttempt | null> {
    const { disposition } = finishing.finish
    if (disposition.do !== 'await-evidence') return null
    if (!(await this.#commit(this.#transition(finishing.finish, NOTHING), NOTHING))) return null
    return this.#attempts.requestEvidence(finishing, disposition)
  }

  /** False when the lane is gone, or has an open attempt that is not its own: the next worker recovers it. */
  async #reload(): Promise<boolean> {
    this.#changed = false
    const [{ connectionId, epoch }, { generation }] = [this, this.#parts.lease]
    const claimed = await this.#storage.read(() => this.#parts.lanes.inspect({ connectionId, epoch }))
    const wasKept = this.isKept
    if (claimed) this.#session?.follow(claimed, generation)
    if (!claimed || claimed.open || (wasKept && !this.isKept)) {
      this.#letGo()
      return false
    }
    this.#claimed = claimed
    this.#rules.reload(claimed)
    this.#buffer.forget()
    this.#chooser.forget()
    return true
  }

  async #waitItOut(): Promise<void> {
    const { wait, isResting } = this.#rules
    if (!wait || this.#ending || this.#changed) return
    this.#parts.journal.record(waits(this.connectionId, wait))
    await this.#sleeper.sleep(
      Math.min(LONGEST_SLEEP_MS, wait.until === null ? LONGEST_SLEEP_MS : wait.until - this.#parts.clock.now()),
    )
    // Notifications of a cancelled message only cut latency: reloading is authoritative.
    if (!isResting) this.#changed = true
  }

  /** Every message that waits is deferred: a new one, or one whose wait ends early, cuts the sleep short. */
  async #awaitDeferred(until: Instant): Promise<void> {
    if (this.#ending || this.#changed || this.#woken) return
    const { wait } = this.#rules
    if (wait && wait !== this.#reported) this.#parts.journal.record(waits(this.connectionId, wait))
    this.#reported = wait
    this.#awaitsDeferred = true
    await this.#sleeper.sleep(Math.min(LONGEST_SLEEP_MS, until - this.#parts.clock.now()))
    this.#awaitsDeferred = false
    // Another process may have accepted a message.
    this.#buffer.expectMore()
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
