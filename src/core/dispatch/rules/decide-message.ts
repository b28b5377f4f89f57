import type { LanePolicy } from '../../connection/lane-policy.ts'
import { endOfQuietHours } from '../../connection/quiet-hours.ts'
import type { Instant } from '../../ids.ts'
import type { QueuedMessage, RetryState, Sequence } from '../../message/message.ts'
import type { RateLimitDelay } from '../../ports/channel.ts'
import type { LaneMemory, LaneTransition, LaneWait } from '../../ports/lanes.ts'
import type { ReasonCode } from '../../reasons.ts'
import { wantsConfirmation } from './confirmation.ts'
import { NOTHING_RETRIED, RETRY_AFTER_MOST_MS } from './retry-schedule.ts'

export interface MessageContext {
  readonly policy: LanePolicy
  readonly memory: LaneMemory
  readonly now: Instant
  /** When the last attempt of this connection began, or a person confirmed its backlog; null when neither is known. */
  readonly lastAttemptAt: Instant | null
  /** In [0, 1), for the jitter of the pace. Fixed per gap, so that deciding twice gives the same end. */
  readonly paceJitter: number
  readonly channelTypes: readonly string[]
  /** False when the channel must prepare the message before its attempt starts. */
  readonly isReady: boolean
  /** The lane waits for the network's rate limit, which is asked again for each decision. */
  readonly isRateLimitDelay: boolean
  /** The recipient is on the account's block list. */
  readonly isBlocked: boolean
}

type DiscardedState = 'EXPIRED' | 'FAILED' | 'UNCONFIRMED'

export type MessageDecision =
  | { readonly do: 'start' }
  /** The whole lane waits. */
  | { readonly do: 'wait'; readonly memory: LaneMemory }
  /**
   * This message waits, and so do later ones to its recipient. `retry` is the same object as before when nothing is to be
   * written. `until` null: its end is not known.
   */
  | { readonly do: 'defer'; readonly retry: RetryState | null; readonly reason: string; readonly until: Instant | null }
  /** As `defer`, while the channel prepares it for at most `budgetMs`. */
  | { readonly do: 'prepare'; readonly retry: RetryState; readonly budgetMs: number; readonly until: Instant }
  | { readonly do: 'discard'; readonly as: DiscardedState; readonly reason: ReasonCode; readonly words: string | null }

/** `idle`: no message waits, or nothing may start. */
export type Decision =
  | MessageDecision
  | { readonly do: 'idle' }
  /** Each message that waits is deferred. */
  | { readonly do: 'await-deferred'; readonly until: Instant }

const START: MessageDecision = { do: 'start' }

// The time that the preparation of a file may take: a base, and what a line with 50 kB per second needs.
const PREPARING_MS = 3 * 60_000
const PREPARING_BYTES_PER_MS = 50

/** Decides what the lane does now with the next message that it may take. Pure. */
export function decideMessage(message: QueuedMessage, context: MessageContext): MessageDecision {
  const decision = checkMessage(message, context)
  // A message that was once sent with an unknown result may have arrived, so no state may deny that.
  if (decision.do !== 'discard' || !message.retry?.resent) return decision
  return drop('UNCONFIRMED', 'result_unknown', decision.words)
}

function checkMessage(message: QueuedMessage, context: MessageContext): MessageDecision {
  const { policy, memory, now } = context
  if (message.acceptedAt + policy.timeToLiveMs <= now) return drop('EXPIRED', 'time_to_live_over', null)
  if (!message.content) return drop('FAILED', 'message_damaged', null)
  if (!context.channelTypes.includes(message.content.type)) return drop('FAILED', 'type_unsupported', null)
  if (context.isBlocked) return drop('FAILED', 'recipient_blocked', null)
  // Checked before anything is sent: after hours offline the next attempt would be the first message of the backlog.
  if (wantsConfirmation(message, context)) return waitUntil(null, 'backlog_confirmation', memory)
  if (memory.wait && isStillOn(memory.wait, context)) return { do: 'wait', memory }
  const quietUntil = policy.quietHours && endOfQuietHours(policy.quietHours, now)
  if (quietUntil !== null) return waitUntil(quietUntil, 'quiet_hours', memory)
  const paceUntil = paceEndsAt(context)
  if (paceUntil > now) return waitUntil(paceUntil, 'pace', memory)
  return ownWait(message, now) ?? (context.isReady ? START : prepare(message, context))
}

/** What the message itself waits for, apart from the network's rate limit. */
function ownWait({ retry, media }: QueuedMessage, now: Instant): MessageDecision | null {
  const wait = retry?.wait
  if (wait?.kind === 'retry' && isAhead(wait.until, now))
    return { do: 'defer', retry, reason: wait.reason, until: wait.until }
  if (media?.kind === 'pending') return { do: 'defer', retry, reason: 'media_pending', until: null }
  return null
}

/** The network's rate limit is applied last, when nothing else delays the message. Pure. */
export function applyRateLimitDelay(
  delay: RateLimitDelay | null,
  { retry }: Pick<QueuedMessage, 'retry'>,
  { memory, now }: Pick<MessageContext, 'memory' | 'now'>,
): MessageDecision {
  if (!delay || delay.until <= now) return START
  const { scope, until, reason, words } = delay
  const old = scope === 'recipient' ? retry?.wait : memory.wait
  const isSame = old?.reason === reason && old.until === until && old.words === words
  if (scope === 'connection')
    return { do: 'wait', memory: isSame ? memory : withWait(memory, { reason, words, until }) }
  const wait = { kind: 'rate-limit', reason, words, since: beginOf(retry, reason, now), until } as const
  return { do: 'defer', retry: isSame ? retry : { ...(retry ?? NOTHING_RETRIED), wait }, reason, until }
}

/** A wait for the same reason goes on. */
function beginOf(retry: RetryState | null, reason: string, now: Instant): Instant {
  const wait = retry?.wait
  return wait && wait.kind !== 'retry' && wait.reason === reason ? wait.since : now
}

/** Written each time: the write shows that the lane is still this worker's before the preparation starts. */
function prepare({ media, retry }: QueuedMessage, { now }: MessageContext): MessageDecision {
  const sizeBytes = media?.kind === 'ready' ? media.file.sizeBytes : 0
  const budgetMs = PREPARING_MS + Math.ceil(sizeBytes / PREPARING_BYTES_PER_MS)
  const until = now + budgetMs
  const reason: ReasonCode = 'media_uploading'
  const wait = { kind: 'upload', reason, words: null, since: beginOf(retry, reason, now), until } as const
  return { do: 'prepare', retry: { ...(retry ?? NOTHING_RETRIED), wait }, budgetMs, until }
}

type Recomputed = 'quiet_hours' | 'pace' | 'backlog_confirmation'

/** The same memory when it already holds this wait, so that deciding again writes nothing. */
function waitUntil(until: Instant | null, reason: Recomputed, memory: LaneMemory): MessageDecision {
  const { wait } = memory
  if (wait?.reason === reason && wait.until === until) return { do: 'wait', memory }
  return { do: 'wait', memory: withWait(memory, { reason, words: null, until }) }
}

/** The part of a transition that a decision needs. `knownThrough`: see `LaneTransition`; null when no check is needed. */
export function transitionOf(
  message: QueuedMessage | null,
  decision: Decision,
  knownThrough: Sequence | null,
): Pick<LaneTransition, 'discard' | 'start'> {
  if (message && decision.do === 'start') {
    const { sequence, attempts } = message
    return { discard: null, start: { sequence, number: attempts + 1, ...(knownThrough !== null && { knownThrough }) } }
  }
  if (!message || decision.do !== 'discard') return { discard: null, start: null }
  const { as, reason, words } = decision
  return { discard: { sequence: message.sequence, as, reason, words }, start: null }
}

const RECOMPUTED: ReadonlySet<string> = new Set<ReasonCode>([
  'all_deferred',
  'pace',
  'quiet_hours',
  'backlog_confirmation',
])

/** Whether the lane still waits for what it has recorded. */
export function isStillOn(
  wait: LaneWait,
  { isRateLimitDelay, policy, now }: Pick<MessageContext, 'isRateLimitDelay' | 'policy' | 'now'>,
): boolean {
  if (RECOMPUTED.has(wait.reason) || isRateLimitDelay) return false
  return wait.until === null || isAhead(wait.until, now, policy.leastGapMs + policy.gapJitterMs)
}

/**
 * False once the wait is over. A wait whose end is farther away than any wait lasts was planned before the clock was set back,
 * so it is over, too.
 */
function isAhead(until: Instant, now: Instant, longestMs = 0): boolean {
  return until > now && until <= now + Math.max(RETRY_AFTER_MOST_MS, longestMs)
}

function paceEndsAt({ policy, lastAttemptAt, paceJitter, now }: MessageContext): Instant {
  // An attempt in the future was made before the clock was set back, an unknown time ago.
  if (policy.leastGapMs === 0 || lastAttemptAt === null || lastAttemptAt > now) return 0
  return lastAttemptAt + policy.leastGapMs + Math.round(policy.gapJitterMs * paceJitter)
}

export function withWait({ failureStreak }: LaneMemory, wait: LaneWait): LaneMemory {
  return { failureStreak, wait }
}

function drop(as: DiscardedState, reason: ReasonCode, words: string | null): MessageDecision {
  return { do: 'discard', as, reason, words }
}
