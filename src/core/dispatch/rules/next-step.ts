import type { LanePolicy } from '../../connection/lane-policy.ts'
import type { Instant } from '../../ids.ts'
import type { RetryState, Sequence } from '../../message/message.ts'
import type { Failure, Outcome } from '../../ports/channel.ts'
import type { Disposition, FailureStreak, LaneMemory } from '../../ports/lanes.ts'
import type { ReasonCode } from '../../reasons.ts'
import type { MessageDecision } from './decide-message.ts'
import {
  connectionDelayMs,
  MOST_TRIES,
  messageDelayMs,
  NOTHING_RETRIED,
  RETRY_AFTER_MOST_MS,
} from './retry-schedule.ts'

/** From here a run of failures that may be the network's is treated as the connection's own. */
const FAILING_AFTER_MESSAGES = 3
const FAILING_AFTER_MS = 30_000
/**
 * From here the whole lane waits, even if no failure points at the network. Otherwise a lane with a fault of its own would fail
 * its whole backlog.
 */
const FAILING_AFTER_ANY_MESSAGES = 10
/** How long a recipient is left alone when the network does not say. */
const RECIPIENT_WAIT_MS = 60_000
/** A message that was open when its worker died this often is not tried again. */
const CRASHES_UNTIL_QUARANTINE = 3

/** An attempt that has ended. */
export interface EndedAttempt {
  readonly sequence: Sequence
  readonly number: number
  readonly startedAt: Instant
  readonly endedAt: Instant
  readonly outcome: Outcome
  /** How often a worker died while this attempt was open. */
  readonly crashes: number
  /** True once the channel gave evidence, or said that there will never be any. */
  readonly isEvidenceFinal: boolean
  /** See `OpenAttempt`. */
  readonly isPossiblySuperseded: boolean
  /** The state of the message's retries before this attempt. */
  readonly retry: RetryState | null
}

export interface StepContext {
  readonly policy: LanePolicy
  readonly memory: LaneMemory
  readonly now: Instant
  /** In [0, 1), for the jitter of waits. */
  readonly jitter: number
  readonly recognisesRepeat: boolean
  /** 0: the channel never gives evidence. */
  readonly evidenceWaitMs: number
}

type End = Omit<Extract<Disposition, { do: 'finalize' }>, 'do'>

interface NextStep {
  readonly disposition: Disposition
  /** The new state of the lane. The same object as before when nothing changed. */
  readonly memory: LaneMemory
}

const NOTHING_REMEMBERED: LaneMemory = { failureStreak: null, wait: null }

/** Decides about a message after one attempt. Pure: no clock, no storage, no channel. */
export function nextStep(attempt: EndedAttempt, context: StepContext): NextStep {
  const { outcome } = attempt
  switch (outcome.kind) {
    case 'accepted':
      return settle(
        { as: 'PUBLISHED', reason: duplicateMark(attempt, context) ?? evidenceMark(attempt), words: null },
        remembersNothing(context.memory),
      )
    case 'rejected':
      return afterRejection(attempt, outcome.failure, context)
    case 'unknown':
      return afterUnknown(attempt, outcome.words, context)
  }
}

/** A message that could not be prepared for its attempt. */
export interface Unready {
  readonly sequence: Sequence
  readonly startedAt: Instant
  readonly endedAt: Instant
  readonly failure: Failure
  readonly retry: RetryState | null
}

/**
 * Decides about a message that could not be prepared: the same as after a rejected attempt, but there is no attempt to
 * finish. Pure.
 */
export function afterPreparing(
  { failure, ...unready }: Unready,
  context: StepContext,
): { readonly decision: MessageDecision; readonly memory: LaneMemory } {
  const outcome: Outcome = { kind: 'rejected', failure }
  const attempt = { ...unready, number: 0, outcome, crashes: 0, isEvidenceFinal: false, isPossiblySuperseded: false }
  const { disposition, memory } = afterRejection(attempt, failure, context)
  if (disposition.do !== 'finalize') {
    const retry = disposition.do === 'keep-queued' ? disposition.retry : unready.retry
    if (failure.class === 'connection' || !retry?.wait) return { decision: { do: 'wait', memory }, memory }
    const { reason, until } = retry.wait
    return { decision: { do: 'defer', retry, reason, until }, memory }
  }
  const as = disposition.as === 'UNCONFIRMED' ? 'UNCONFIRMED' : 'FAILED'
  return {
    decision: { do: 'discard', as, reason: disposition.reason ?? failure.code, words: disposition.words },
    memory,
  }
}

/** Readers of the log must see that the recipient may have got the message twice. */
function duplicateMark({ retry }: EndedAttempt, { recognisesRepeat }: StepContext): ReasonCode | null {
  return retry?.resent && !recognisesRepeat ? 'possible_duplicate' : null
}

/** Evidence, not the answer to the call, shows that the network accepted the message. */
function evidenceMark({ isEvidenceFinal }: EndedAttempt): ReasonCode | null {
  return isEvidenceFinal ? 'evidence_found' : null
}

function afterRejection(attempt: EndedAttempt, failure: Failure, context: StepContext): NextStep {
  const { memory, now } = context
  // Even when it was certainly not sent: a message that kills its worker must not do so forever.
  if (killedWorkersTooOften(attempt))
    return settle({ ...failedEnd(attempt, 'quarantined'), reason: 'quarantined' }, withoutWait(memory))
  switch (failure.class) {
    case 'permanent':
      return settle(failedEnd(attempt, failure.code), remembersNothing(memory))
    case 'connection': {
      const failureStreak = countFailure(memory.failureStreak, attempt, { countsAgainstConnection: true })
      return keepQueued(unchanged(attempt), { failureStreak, wait: connectionWait(failure, failureStreak, context) })
    }
    case 'recipient': {
      const until = now + messageDelayMs(1, failure.retryAfterMs ?? RECIPIENT_WAIT_MS, 0)
      const wait = { kind: 'rate-limit', reason: failure.code, words: failure.words, since: now, until } as const
      return keepQueued({ ...retryOf(attempt), wait }, withoutWait(memory))
    }
    case 'transient':
      return afterTransient(attempt, failure, context)
  }
}

function afterTransient(attempt: EndedAttempt, failure: Failure, context: StepContext): NextStep {
  const { memory, now, jitter } = context
  const { words, suspectsNetwork } = failure
  const retry = retryOf(attempt)
  const failureStreak = countFailure(memory.failureStreak, attempt, { countsAgainstConnection: suspectsNetwork })
  if (isFailing(failureStreak, suspectsNetwork, now)) {
    const failing = suspectsNetwork ? failureStreak : { ...failureStreak, failures: failureStreak.failures + 1 }
    const wait = connectionWait(failure, failing, context)
    // Deferred beyond the end of the lane's wait, so that another message tries the network first.
    const until = Math.min(wait.until + messageDelayMs(retry.tries + 1, null, jitter), now + RETRY_AFTER_MOST_MS)
    return keepQueued(
      { ...retry, wait: { kind: 'retry', reason: 'retrying', words, until } },
      { failureStreak: { ...failing, since: failing.since ?? now }, wait },
    )
  }
  const tries = retry.tries + 1
  if (tries >= MOST_TRIES) return settle(failedEnd(attempt, 'tries_used_up'), { failureStreak, wait: null })
  const until = now + messageDelayMs(tries, failure.retryAfterMs, jitter)
  return keepQueued(
    { ...retry, tries, wait: { kind: 'retry', reason: 'retrying', words, until } },
    { failureStreak, wait: null },
  )
}

/** The whole lane waits. It costs the message no try. */
function connectionWait(failure: Failure, { failures }: FailureStreak, { now, jitter }: StepContext) {
  const reason = failure.class === 'connection' ? failure.code : 'trouble'
  const delayMs = connectionDelayMs(failures, failure.retryAfterMs, jitter)
  return { reason, words: failure.words, until: now + delayMs }
}

function afterUnknown(attempt: EndedAttempt, words: string, context: StepContext): NextStep {
  const { memory, policy, now } = context
  const isQuarantined = killedWorkersTooOften(attempt)
  // An attempt that was open in an older state of the database may have been followed by attempts that are lost (G12). Their
  // age and whether they were a repeat are unknown.
  const mayRepeat = !attempt.isPossiblySuperseded && !isQuarantined
  if (mayRepeat && context.recognisesRepeat) return repeat(attempt, words, context)
  if (context.evidenceWaitMs > 0 && !attempt.isEvidenceFinal) {
    return { disposition: { do: 'await-evidence', until: now + context.evidenceWaitMs, words }, memory }
  }
  // The line broke after we handed the message over, so it may already be on its way. Sending again risks a duplicate,
  // leaving it risks a loss. The connection's owner has chosen between the two.
  if (mayRepeat && policy.onUnconfirmed === 'resend' && !attempt.retry?.resent) return repeat(attempt, words, context)
  const reason = isQuarantined ? 'quarantined' : attempt.crashes > 0 ? 'stopped_while_sending' : 'result_unknown'
  return settle({ as: 'UNCONFIRMED', reason, words }, withoutWait(memory))
}

/** Sends the message once more, although the attempt before may have arrived. */
function repeat(attempt: EndedAttempt, words: string, { memory, now, jitter }: StepContext): NextStep {
  const retry = retryOf(attempt)
  const tries = retry.tries + 1
  if (tries >= MOST_TRIES) return settle({ as: 'UNCONFIRMED', reason: 'result_unknown', words }, withoutWait(memory))
  const wait = { kind: 'retry', reason: 'retrying', words, until: now + messageDelayMs(tries, null, jitter) } as const
  return keepQueued({ ...retry, tries, resent: true, wait }, withoutWait(memory))
}

/** A rejection proves only that its own attempt was not sent. FAILED needs that proof for every attempt; `resent` means that one lacks it. */
function failedEnd({ outcome, retry }: EndedAttempt, reason: ReasonCode): End {
  const words = outcome.kind === 'rejected' ? outcome.failure.words : null
  if (retry?.resent) return { as: 'UNCONFIRMED', reason: 'result_unknown', words }
  return { as: 'FAILED', reason, words }
}

function settle(end: End, memory: LaneMemory): NextStep {
  return { disposition: { do: 'finalize', ...end }, memory }
}

function keepQueued(retry: RetryState | null, memory: LaneMemory): NextStep {
  return { disposition: { do: 'keep-queued', retry }, memory }
}

/** The same object when there is nothing to forget, so that the usual case writes nothing. */
function remembersNothing(memory: LaneMemory): LaneMemory {
  return memory.failureStreak || memory.wait ? NOTHING_REMEMBERED : memory
}

function withoutWait(memory: LaneMemory): LaneMemory {
  return memory.wait ? { failureStreak: memory.failureStreak, wait: null } : memory
}

/** Where the message caused no wait, its retry state stays as it was; only crashes are added. */
function unchanged(attempt: EndedAttempt): RetryState | null {
  return attempt.crashes > 0 ? retryOf(attempt) : attempt.retry
}

/** The retry state of the message, including the crashes of this attempt. */
function retryOf({ retry, crashes }: EndedAttempt): RetryState {
  const before = retry ?? NOTHING_RETRIED
  return crashes === 0 ? before : { ...before, crashes: before.crashes + crashes }
}

function killedWorkersTooOften(attempt: EndedAttempt): boolean {
  return attempt.crashes > 0 && retryOf(attempt).crashes >= CRASHES_UNTIL_QUARANTINE
}

/** Counts a message once, however often it fails, so that a few bad recipients do not stop the lane. */
function countFailure(
  before: FailureStreak | null,
  { retry, endedAt }: EndedAttempt,
  { countsAgainstConnection }: { readonly countsAgainstConnection: boolean },
): FailureStreak {
  const { failures = 0, since = null, messages = 0 } = before ?? {}
  const isFirst = !retry || (retry.tries === 0 && retry.wait?.kind !== 'retry')
  return {
    failures: failures + (countsAgainstConnection ? 1 : 0),
    since: since ?? (countsAgainstConnection ? endedAt : null),
    messages: messages + (isFirst ? 1 : 0),
  }
}

/** Whether there are enough failures in a row for the whole lane to wait. */
function isFailing({ messages, since }: FailureStreak, suspectsNetwork: boolean, now: Instant): boolean {
  if (!suspectsNetwork) return messages >= FAILING_AFTER_ANY_MESSAGES
  return messages >= FAILING_AFTER_MESSAGES || (since !== null && now - since >= FAILING_AFTER_MS)
}
