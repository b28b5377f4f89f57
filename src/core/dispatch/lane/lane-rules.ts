import { type LanePolicy, notesAttempts } from '../../connection/lane-policy.ts'
import type { Instant } from '../../ids.ts'
import type { QueuedMessage } from '../../message/message.ts'
import type { Channel, ChannelCapabilities, RateLimitDelay } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import type { ClaimedLane, Disposition, LaneMemory, LaneWait } from '../../ports/lanes.ts'
import {
  applyRateLimitDelay,
  decideMessage,
  isStillOn,
  type MessageContext,
  type MessageDecision,
  withWait,
} from '../rules/decide-message.ts'
import { afterPreparing, type EndedAttempt, nextStep, type StepContext, type Unready } from '../rules/next-step.ts'

// The watchdog takes a lane for stalled whose first message and last attempt have been the same for 45 s.
const NOTE_ATTEMPT_EVERY_MS = 5_000

interface LaneRulesParts {
  readonly clock: Clock
  readonly journal: Journal
  readonly channel: Channel
}

/** Applies the rules to one lane and keeps the state that they return. */
export class LaneRules {
  readonly #parts: LaneRulesParts
  #claimed: ClaimedLane
  #capabilities: ChannelCapabilities
  #memory: LaneMemory
  #savedMemory: LaneMemory
  #lastAttemptAt: Instant | null
  /** The last attempt whose time was written. */
  #notedAt: Instant
  #paceJitter: number
  /** The last wait that came from the network's rate limit. */
  #rateLimitWait: LaneWait | null = null

  constructor(claimed: ClaimedLane, parts: LaneRulesParts) {
    this.#parts = parts
    this.#claimed = claimed
    this.#capabilities = this.#capabilitiesNow()
    this.#memory = claimed.memory
    this.#savedMemory = claimed.memory
    this.#lastAttemptAt = claimed.lastAttemptAt
    this.#notedAt = claimed.lastAttemptAt ?? 0
    this.#paceJitter = parts.clock.random()
  }

  get wait(): LaneWait | null {
    return this.#memory.wait
  }

  /** When the last attempt began; null when there was none. */
  get lastAttemptAt(): Instant | null {
    return this.#lastAttemptAt
  }

  /** What the channel can do for this connection. */
  get capabilities(): ChannelCapabilities {
    return this.#capabilities
  }

  get policy(): LanePolicy {
    return this.#claimed.policy
  }

  /** Whether the time of an attempt that starts now is to be written. */
  notesAttempt(at: Instant, hasDeferred: boolean): boolean {
    if (notesAttempts(this.policy)) return true
    return hasDeferred && Math.abs(at - this.#notedAt) >= NOTE_ATTEMPT_EVERY_MS
  }

  /** The state to write with the next transition; null when it has not changed since the last. */
  get unsaved(): LaneMemory | null {
    return this.#memory === this.#savedMemory ? null : this.#memory
  }

  saved(memory: LaneMemory): void {
    this.#savedMemory = memory
  }

  /** An attempt was committed. */
  opened(at: Instant, isNoted: boolean): void {
    this.#lastAttemptAt = at
    if (isNoted) this.#notedAt = at
    this.#paceJitter = this.#parts.clock.random()
  }

  /** The lane as storage has it now. */
  reload(claimed: ClaimedLane): void {
    this.#claimed = claimed
    this.#capabilities = this.#capabilitiesNow()
    this.#memory = claimed.memory
    this.#savedMemory = claimed.memory
    // A person may have confirmed the backlog, or the newest attempts of this lane may not have been written.
    if (claimed.lastAttemptAt !== null)
      this.#lastAttemptAt = Math.max(claimed.lastAttemptAt, this.#lastAttemptAt ?? claimed.lastAttemptAt)
  }

  /** True when the end of the wait follows from local state alone, so storage need not be read then. */
  get isResting(): boolean {
    return this.#memory.wait?.reason === 'pace' || this.#isRateLimitDelay
  }

  decide(
    message: QueuedMessage,
    { isReady, isBlocked }: Pick<MessageContext, 'isReady' | 'isBlocked'>,
  ): MessageDecision {
    const { clock, channel } = this.#parts
    const now = clock.now()
    const context = {
      policy: this.policy,
      memory: this.#memory,
      now,
      lastAttemptAt: this.#lastAttemptAt,
      paceJitter: this.#paceJitter,
      channelTypes: this.#capabilities.types,
      isReady,
      isRateLimitDelay: this.#isRateLimitDelay,
      isBlocked,
    }
    const decision = decideMessage(message, context)
    if (decision.do === 'start' && channel.rateLimitDelayOf)
      return this.#applyRateLimitDelay(this.#askRateLimitDelay(message, now), message, now)
    if (decision.do === 'wait') this.#memory = decision.memory
    return decision
  }

  /** Each message that waits is deferred, at least until then. A wait of the lane itself stays. */
  allDeferred(until: Instant): void {
    const { wait } = this.#memory
    const context = { isRateLimitDelay: this.#isRateLimitDelay, policy: this.policy, now: this.#parts.clock.now() }
    if (wait && isStillOn(wait, context)) return
    if (wait?.reason === 'all_deferred' && wait.until === until) return
    this.#memory = withWait(this.#memory, { reason: 'all_deferred', words: null, until })
  }

  /** Decides about a message whose attempt has ended. */
  afterAttempt(ended: EndedAttempt): Disposition {
    const { disposition, memory } = nextStep(ended, this.#context(ended.endedAt))
    this.#memory = memory
    return disposition
  }

  /** Decides about a message that could not be prepared. */
  afterPreparing(
    { sequence, retry }: QueuedMessage,
    { startedAt, failure }: Pick<Unready, 'startedAt' | 'failure'>,
  ): MessageDecision {
    const now = this.#parts.clock.now()
    const unready: Unready = { sequence, startedAt, endedAt: now, failure, retry }
    const { decision, memory } = afterPreparing(unready, this.#context(now))
    this.#memory = memory
    return decision
  }

  get #isRateLimitDelay(): boolean {
    const { wait } = this.#memory
    const delay = this.#rateLimitWait
    // Compared by value, because the state loaded from storage is another object.
    return wait !== null && delay !== null && wait.reason === delay.reason && wait.until === delay.until
  }

  #askRateLimitDelay(message: QueuedMessage, now: Instant): RateLimitDelay | null {
    const { channel, journal } = this.#parts
    const { accountId, connectionId, recipient: to, content } = message
    if (!content) return null
    try {
      return (
        channel.rateLimitDelayOf?.(
          { accountId, connectionId, to, content, settings: this.#claimed.channelSettings },
          now,
        ) ?? null
      )
    } catch (error) {
      // The network still enforces its own limit, so a fault in this check must not stop the lane.
      journal.record({ event: 'fault', where: `channel ${channel.name} rateLimitDelayOf`, error })
      return null
    }
  }

  #applyRateLimitDelay(delay: RateLimitDelay | null, message: QueuedMessage, now: Instant): MessageDecision {
    const decision = applyRateLimitDelay(delay, message, { memory: this.#memory, now })
    if (decision.do === 'wait') {
      this.#memory = decision.memory
      this.#rateLimitWait = decision.memory.wait
    }
    return decision
  }

  #capabilitiesNow(): ChannelCapabilities {
    const { channel } = this.#parts
    return channel.capabilitiesOf?.(this.#claimed.channelSettings) ?? channel.capabilities
  }

  #context(now: Instant): StepContext {
    const { clock } = this.#parts
    return {
      policy: this.policy,
      memory: this.#memory,
      now,
      jitter: clock.random(),
      recognisesRepeat: this.#capabilities.recognisesRepeat,
      evidenceWaitMs: this.#capabilities.evidenceWaitMs,
    }
  }
}
