import type { LanePolicy } from '../../connection/lane-policy.ts'
import { endOfQuietHours } from '../../connection/quiet-hours.ts'
import type { Instant } from '../../ids.ts'
import type { QueuedMessage } from '../../message/message.ts'
import type { RateLimitDelay } from '../../ports/channel.ts'
import type { LaneMemory, LaneTransition, LaneWait } from '../../ports/lanes.ts'
import { whatsAppCloudReason } from '../../reasons/whatsapp-cloud.ts'
import type { ReasonCode } from '../../reasons.ts'
import { wantsConfirmation } from './confirmation.ts'
import { RETRY_AFTER_MOST_MS } from './retry-schedule.ts'

export interface HeadContext {
  readonly policy: LanePolicy
  readonly memory: LaneMemory
  readonly now: Instant
  /** When the last attempt of this connection began, or a person confirmed its backlog; null when neither is known. */
  readonly lastAttemptAt: Instant | null
  /** In [0, 1), for the jitter of the pace. Fixed per gap, so that deciding twice gives the same end. */
  readonly paceJitter: number
  readonly channelTypes: readonly string[]
  /**
   * Since when this process fetches the head's file; null while it has not begun, or cannot fetch any media (a full disk):
   * that does not count against a message.
   */
  readonly fetchedSince: Instant | null
  /** False when the channel must prepare the message before its attempt starts. */
  readonly isReady: boolean
  /** The lane waits for the network's rate limit, which is asked again for each decision. */
  readonly isRateLimitDelay: boolean
  /** The recipient is on the account's block list. */
  readonly isBlocked: boolean
}

type DiscardedState = 'EXPIRED' | 'FAILED' | 'UNCONFIRMED'

export type HeadDecision =
  | { readonly do: 'start' }
  | { readonly do: 'wait'; readonly memory: LaneMemory }
  /** The channel prepares it now, for at most `budgetMs`. No attempt starts yet. */
  | { readonly do: 'prepare'; readonly memory: LaneMemory; readonly budgetMs: number }
  | { readonly do: 'discard'; readonly as: DiscardedState; readonly reason: string; readonly words: string | null }

/** `idle`: there is no head, or nothing may start. */
export type Decision = HeadDecision | { readonly do: 'idle' }

const OPEN: HeadDecision = { do: 'start' }

// The time that the preparation of a file may take: a base, and what a line with 50 kB per second needs.
const PREPARING_MS = 3 * 60_000
const PREPARING_BYTES_PER_MS = 50
// A head budget that is almost used up still allows one preparation of at least this length.
const PREPARING_LEAST_MS = 30_000

/** Decides what the lane does with the message at its head now. Pure. */
export function decideHead(head: QueuedMessage, context: HeadContext): HeadDecision {
  const decision = checkHead(head, context)
  // A message that was once sent with an unknown result may have arrived, so no state may deny that.
  if (decision.do !== 'discard' || !wasRepeated(head, context.memory)) return decision
  return drop('UNCONFIRMED', 'result_unknown', decision.words)
}

function checkHead(head: QueuedMessage, context: HeadContext): HeadDecision {
  const { policy, memory, now } = context
  if (head.acceptedAt + policy.timeToLiveMs <= now) return drop('EXPIRED', 'time_to_live_over', null)
  if (!head.content) return drop('FAILED', 'message_damaged', null)
  if (!context.channelTypes.includes(head.content.type)) return drop('FAILED', 'type_unsupported', null)
  if (context.isBlocked) return drop('FAILED', 'recipient_blocked', null)
  // Checked before anything is sent: after hours offline the next attempt would be the first message of the backlog.
  if (wantsConfirmation(head, context)) return waitUntil(null, 'backlog_confirmation', memory)
  const { wait } = memory
  if (wait && isStillOn(wait, head, context)) return { do: 'wait', memory }
  if (head.media?.kind === 'pending') return waitForMedia(head, context)
  const quietUntil = policy.quietHours && endOfQuietHours(policy.quietHours, now)
  if (quietUntil !== null) return waitUntil(quietUntil, 'quiet_hours', memory)
  const paceUntil = throttleUntil(context)
  if (paceUntil > now) return waitUntil(paceUntil, 'pace', memory)
  return context.isReady ? OPEN : prepare(head, context)
}

/** The network's rate limit is applied last, when nothing else delays the message. Pure. */
export function applyRateLimitDelay(rest: RateLimitDelay | null, memory: LaneMemory, now: Instant): HeadDecision {
  if (!rest || rest.until <= now) return OPEN
  const { until, reason, words } = rest
  const { wait } = memory
  if (wait?.reason === reason && wait.until === until && wait.words === words) return { do: 'wait', memory }
  return { do: 'wait', memory: withWait(memory, { reason, words, until }) }
}

/** Written each time: the write shows that the lane is still this worker's before the preparation starts. */
function prepare(head: QueuedMessage, { policy, memory, now }: HeadContext): HeadDecision {
  const sizeBytes = head.media?.kind === 'ready' ? head.media.file.sizeBytes : 0
  const leftMs = policy.headBudgetMs - (memory.head?.sequence === head.sequence ? memory.head.budgetUsedMs : 0)
  const wantedMs = PREPARING_MS + Math.ceil(sizeBytes / PREPARING_BYTES_PER_MS)
  const budgetMs = Math.max(PREPARING_LEAST_MS, Math.min(wantedMs, leftMs))
  const wait = { reason: 'media_uploading', words: null, until: now + budgetMs }
  return { do: 'prepare', memory: withWait(memory, wait), budgetMs }
}

type Recomputed = 'quiet_hours' | 'pace' | 'backlog_confirmation'

/** The same memory when it already holds this wait, so that deciding again writes nothing. */
function waitUntil(until: Instant | null, reason: Recomputed, memory: LaneMemory): HeadDecision {
  const { wait } = memory
  if (wait?.reason === reason && wait.until === until) return { do: 'wait', memory }
  return { do: 'wait', memory: withWait(memory, { reason, words: null, until }) }
}

/** The part of a transition that a decision needs. `isLowest` false: a message before the head may be missing in the buffer. */
export function transitionOf(
  head: QueuedMessage | null,
  decision: Decision,
  isLowest: boolean,
): Pick<LaneTransition, 'discard' | 'start'> {
  if (head && decision.do === 'start') {
    const { sequence, attempts } = head
    return { discard: null, start: { sequence, number: attempts + 1, ...(!isLowest && { onlyIfLowest: true }) } }
  }
  if (!head || decision.do !== 'discard') return { discard: null, start: null }
  const { as, reason, words } = decision
  return { discard: { sequence: head.sequence, as, reason, words }, start: null }
}

const RECOMPUTED: ReadonlySet<string> = new Set<ReasonCode>([
  'media_pending',
  'media_uploading',
  'pace',
  'quiet_hours',
  'backlog_confirmation',
])

/** The network limits only the recipient of the message that met this; messages to others may go. */
const FOR_ONE_RECIPIENT: ReadonlySet<string> = new Set([whatsAppCloudReason(131_056)])

/** A wait with an end farther away than any wait can be was planned before the clock was set back: it is over. */
function isStillOn(wait: LaneWait, head: QueuedMessage, context: HeadContext): boolean {
  if (RECOMPUTED.has(wait.reason) || context.isRateLimitDelay) return false
  const { policy, memory, now } = context
  // The wait for a retry belongs to its message: it ends when that message is cancelled or expires.
  if (wait.reason === 'retrying' && memory.head?.sequence !== head.sequence) return false
  if (FOR_ONE_RECIPIENT.has(wait.reason) && memory.failureStreak?.lastSequence !== head.sequence) return false
  if (wait.until === null) return true
  const longestMs = Math.max(RETRY_AFTER_MOST_MS, policy.headBudgetMs, policy.leastGapMs + policy.gapJitterMs)
  return wait.until > now && wait.until <= now + longestMs
}

/** A slow URL delays its lane for at most the head budget, which counts from the start of a fetch. */
function waitForMedia(head: QueuedMessage, context: HeadContext): HeadDecision {
  const { memory, policy, now, fetchedSince } = context
  const words = head.media?.kind === 'pending' ? head.media.lastWords : null
  const isCounting = memory.wait?.reason === 'media_pending' && memory.head?.sequence === head.sequence
  const until = isCounting ? (memory.wait?.until ?? now) : now + policy.headBudgetMs
  if (until > now) {
    if (isCounting) return { do: 'wait', memory }
    // A lost file is waited for after earlier attempts, so their retry state must be kept.
    const isKnown = memory.head?.sequence === head.sequence
    const remembered = isKnown
      ? memory.head
      : { sequence: head.sequence, tries: 0, budgetUsedMs: 0, resent: false, crashes: 0 }
    return {
      do: 'wait',
      memory: {
        head: remembered,
        failureStreak: memory.failureStreak,
        wait: { reason: 'media_pending', words, until },
      },
    }
  }
  // The planned end passed while no worker ran, or while other fetches used all room. A start in the future was set before
  // the clock was set back.
  const budgetUntil = Math.min(fetchedSince ?? now, now) + policy.headBudgetMs
  if (budgetUntil > now)
    return { do: 'wait', memory: withWait(memory, { reason: 'media_pending', words, until: budgetUntil }) }
  return drop('FAILED', 'head_budget_over', words)
}

function throttleUntil({ policy, lastAttemptAt, paceJitter, now }: HeadContext): Instant {
  // An attempt in the future was made before the clock was set back, an unknown time ago.
  if (policy.leastGapMs === 0 || lastAttemptAt === null || lastAttemptAt > now) return 0
  return lastAttemptAt + policy.leastGapMs + Math.round(policy.gapJitterMs * paceJitter)
}

function withWait(memory: LaneMemory, wait: LaneWait): LaneMemory {
  return { head: memory.head, failureStreak: memory.failureStreak, wait }
}

function wasRepeated(head: QueuedMessage, { head: remembered }: LaneMemory): boolean {
  return remembered?.sequence === head.sequence && remembered.resent
}

function drop(as: DiscardedState, reason: string, words: string | null): HeadDecision {
  return { do: 'discard', as, reason, words }
}
