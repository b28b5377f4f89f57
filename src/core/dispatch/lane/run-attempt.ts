import type { InterruptibleSleep } from '../../interruptible-sleep.ts'
import type { QueuedMessage } from '../../message/message.ts'
import type { ClaimedLane, Disposition, OpenAttempt } from '../../ports/lanes.ts'
import {
  attemptOf,
  endedWith,
  type FinishedAttempt,
  finished,
  finishUncalled,
  handover,
  recordOf,
  type StartedAttempt,
} from '../rules/describe-attempt.ts'
import type { EndedAttempt } from '../rules/next-step.ts'
import { ChannelCall } from './attempt.ts'
import type { BlockCheck } from './block-check.ts'
import { type Found, requestEvidenceAfterCrash, requestEvidenceUntil } from './gather-evidence.ts'
import type { LaneParts } from './lane-parts.ts'
import type { LaneRules } from './lane-rules.ts'
import type { LaneEnding } from './lane-store-client.ts'

interface AttemptRunnerParts extends Pick<LaneParts, 'clock' | 'channel' | 'lease' | 'journal'> {
  readonly rules: LaneRules
  readonly blocks: BlockCheck
  readonly sleeper: InterruptibleSleep
  readonly claimed: () => ClaimedLane
  readonly ending: () => LaneEnding | null
}

/** Runs the attempts of a lane, from their commit to their outcome. */
export class AttemptRunner {
  readonly #parts: AttemptRunnerParts
  #call: ChannelCall | null = null

  constructor(parts: AttemptRunnerParts) {
    this.#parts = parts
  }

  get isCalling(): boolean {
    return this.#call !== null
  }

  /** Ends a call that is overdue or has outlived the lease. */
  sweep(): void {
    if (this.#call && !this.#parts.lease.isHeld()) this.#call.abort()
    this.#call?.sweep()
  }

  abort(): void {
    this.#call?.abort()
  }

  /** The attempt is committed: now the one call that can have an effect. */
  async run(message: QueuedMessage, generation: number): Promise<FinishedAttempt> {
    const { clock, channel, lease, journal, rules, blocks, claimed, ending } = this.#parts
    const started = attemptOf(message, rules.lastAttemptAt ?? clock.now())
    // Checked again, because the commit may have taken long: a recipient who opted out meanwhile gets no message (G13). The
    // next decision about the message fails it.
    const blocked = blocks.ask(message)
    const isBlocked = typeof blocked === 'boolean' ? blocked : await blocked
    if (isBlocked) return finishUncalled(started, clock.now(), 'recipient_blocked')
    // The lane ended or was released before the answer came: no call.
    if (isBlocked === null || ending() === 'gone') return finishUncalled(started, clock.now(), 'call_interrupted')
    // The last check before the call: from here on only the channel can stop it (G6). A lease that expired and was renewed
    // since the attempt was recorded does not count: another worker may have had the lane in between.
    const stillHolds = () => lease.isHeld() && lease.generation === generation
    if (!stillHolds()) return this.#interrupted(started)
    this.#call = new ChannelCall(clock, rules.capabilities.callBudgetMs, stillHolds)
    const outcome = await this.#call.run(channel, handover(claimed(), started), journal)
    this.#call = null
    return this.finish(started, { outcome, isEvidenceFinal: false })
  }

  /** Finishes an attempt that another worker, or this one before a restart, left open. Null when the lane ends first. */
  async recover({ evidenceUntil, ...started }: OpenAttempt): Promise<FinishedAttempt | null> {
    const { message, crashes } = started
    if (evidenceUntil !== null) {
      // Only the process before this one knows what broke.
      const words = 'the result of the call was not known when this process took it over'
      return this.requestEvidence(started, { until: evidenceUntil, words })
    }
    const { id: messageId, connectionId } = message
    this.#parts.journal.record({ event: 'attempt.recovered', messageId, connectionId, crashes })
    return this.finish(started, await requestEvidenceAfterCrash(this.#parts, started))
  }

  /** Null when the lane ends first. The attempt stays open then, and the next worker goes on waiting. */
  async requestEvidence(
    started: StartedAttempt,
    { until, words }: Pick<Extract<Disposition, { do: 'await-evidence' }>, 'until' | 'words'>,
  ): Promise<FinishedAttempt | null> {
    const parts = { ...this.#parts, goesOn: () => !this.#parts.ending() }
    const found = await requestEvidenceUntil(parts, started, {
      until,
      words,
      mostMs: this.#parts.rules.capabilities.evidenceWaitMs,
    })
    return found && this.finish(started, found)
  }

  /** The lease expired before the call, so there was none. Resolves once the lease is held again. */
  async #interrupted(started: StartedAttempt): Promise<FinishedAttempt> {
    this.#parts.journal.record({ event: 'claim.expired' })
    await this.#parts.lease.untilHeld()
    return finishUncalled(started, this.#parts.clock.now(), 'call_interrupted')
  }

  finish(started: StartedAttempt, { outcome, isEvidenceFinal }: Found): FinishedAttempt {
    const { clock, journal, rules, claimed, ending } = this.#parts
    const ended: EndedAttempt = { ...endedWith(started, clock.now(), outcome), isEvidenceFinal }
    const disposition = rules.afterAttempt(ended)
    const finish = { attempt: recordOf(ended), disposition }
    // A released lane writes no outcome, so it reports none; and each attempt is reported once.
    if (ending() !== 'gone' && disposition.do !== 'await-evidence')
      journal.record(finished(claimed(), started.message, finish))
    return { ...started, finish }
  }
}
