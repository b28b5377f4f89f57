import type { LanePolicy } from '../../connection/lane-policy.ts'
import type { Instant } from '../../ids.ts'
import type { Sequence } from '../../message/message.ts'
import type { Failure, Outcome } from '../../ports/channel.ts'
import type { Disposition, FailureStreak, HeadRetryState, LaneMemory } from '../../ports/lanes.ts'
import type { HeadDecision } from './decide-head.ts'
import { connectionDelayMs, messageDelayMs } from './retry-schedule.ts'

/** From here a run of failures that may be the network's is treated as the connection's own. */
const FAILING_AFTER_MESSAGES = 3
const FAILING_AFTER_MS = 30_000
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
  readonly evidenceRequested: boolean
  /** See `OpenAttempt`. */
  readonly isPossiblySuperseded: boolean
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

interface FailingContext extends StepContext {
  readonly failureStreak: FailureStreak
}

interface NextStep {
  readonly disposition: Disposition
  /** The new state of the lane. The same object as before when nothing changed. */
  readonly memory: LaneMemory
}

const NOTHING_REMEMBERED: LaneMemory = { head: null, failureStreak: null, wait: null }

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
}

/**
 * Decides about a message that could not be prepared: the same as after a rejected attempt, but there is no attempt to
 * finish. Pure.
 */
export function afterPreparing(
  { failure, ...unready }: Unready,
  context: StepContext,
): { readonly decision: HeadDecision; readonly memory: LaneMemory } {
  const outcome: Outcome = { kind: 'rejected', failure }
  const attempt = { ...unready, number: 0, outcome, crashes: 0, evidenceRequested: false, isPossiblySuperseded: false }
  const { disposition, memory } = afterRejection(attempt, failure, context)
  if (disposition.do !== 'finalize') return { decision: { do: 'wait', memory }, memory }
  const as = disposition.as === 'UNCONFIRMED' ? 'UNCONFIRMED' : 'FAILED'
  return {
    decision: { do: 'discard', as, reason: disposition.reason ?? failure.code, words: disposition.words },
    memory,
  }
}

/** Readers of the log must see that the recipient may have got the message twice. */
function duplicateMark(attempt: EndedAttempt, { memory, recognisesRepeat }: StepContext): string | null {
  const isRepeat = memory.head?.sequence === attempt.sequence && memory.head.resent
  return isRepeat && !recognisesRepeat ? 'possible_duplicate' : null
}

/** Evidence, not the answer to the call, shows that the network accepted the message. */
function evidenceMark({ evidenceRequested }: EndedAttempt): string | null {
  return evidenceRequested ? 'evidence_found' : null
}

function afterRejection(attempt: EndedAttempt, failure: Failure, context: StepContext): NextStep {
  // Even when it was certainly not sent: a message that kills its worker must not do so forever.
  if (isPoison(attempt, context.memory))
    return settle({ ...failedEnd(attempt, 'quarantined', context), reason: 'quarantined' }, forgetHead(context.memory))
  switch (failure.class) {
    case 'permanent':
      return settle(failedEnd(attempt, failure.code, context), remembersNothing(context.memory))
    case 'connection':
      return waitForConnection(remembered(attempt, context.memory), failure, {
        ...context,
        failureStreak: countFailure(context.memory.failureStreak, attempt),
      })
    case 'transient':
      return afterTransient(attempt, failure, context)
  }
}

function afterTransient(attempt: EndedAttempt, failure: Failure, context: StepContext): NextStep {
  const { memory, policy, now, jitter } = context
  const failureStreak = failure.suspectsNetwork ? countFailure(memory.failureStreak, attempt) : null
  if (
    failureStreak &&
    (failureStreak.messages >= FAILING_AFTER_MESSAGES || now - failureStreak.since >= FAILING_AFTER_MS)
  ) {
    return waitForConnection(remembered(attempt, memory), failure, { ...context, failureStreak })
  }
  const head = headOf(memory, attempt)
  const budgetUsedMs = head.budgetUsedMs + timeUsed(attempt)
  const leftMs = policy.headBudgetMs - budgetUsedMs
  if (leftMs <= 0)
    return settle(failedEnd(attempt, 'head_budget_over', context), { head: null, failureStreak, wait: null })
  // The last wait is shortened so that the budget ends with an attempt and not during a wait.
  const delayMs = Math.min(messageDelayMs(head.tries + 1, failure.retryAfterMs, jitter), leftMs)
  return {
    disposition: { do: 'keep-queued' },
    memory: {
      head: { ...head, tries: head.tries + 1, budgetUsedMs: budgetUsedMs + delayMs },
      failureStreak,
      wait: { reason: 'retrying', words: failure.words, until: now + delayMs },
    },
  }
}

/** The whole lane waits. It costs the message neither a try nor head budget. */
function waitForConnection(head: HeadRetryState | null, failure: Failure, context: FailingContext): NextStep {
  const { failureStreak } = context
  const delayMs = connectionDelayMs(failureStreak.failures, failure.retryAfterMs, context.jitter)
  const reason = failure.class === 'connection' ? failure.code : 'trouble'
  return {
    disposition: { do: 'keep-queued' },
    memory: {
      head,
      failureStreak,
      wait: { reason, words: failure.words, until: context.now + delayMs },
    },
  }
}

function afterUnknown(attempt: EndedAttempt, words: string, context: StepContext): NextStep {
  const { memory, policy, now } = context
  const isQuarantined = isPoison(attempt, memory)
  // An attempt that was open in an older state of the database may have been followed by attempts that are lost (G12). Their
  // age and whether they were a repeat are unknown.
  const mayRepeat = !attempt.isPossiblySuperseded && !isQuarantined
  if (mayRepeat && context.recognisesRepeat) return repeat(attempt, words, context)
  if (context.evidenceWaitMs > 0 && !attempt.evidenceRequested) {
    return { disposition: { do: 'await-evidence', until: now + context.evidenceWaitMs, words }, memory }
  }
  // The line broke after we handed the message over, so it may already be on its way. Sending again risks a duplicate,
  // leaving it risks a loss. The connection's owner has chosen between the two.
  if (mayRepeat && policy.onUnconfirmed === 'resend' && !headOf(memory, attempt).resent)
    return repeat(attempt, words, context)
  const reason = isQuarantined ? 'quarantined' : attempt.crashes > 0 ? 'stopped_while_sending' : 'result_unknown'
  return settle({ as: 'UNCONFIRMED', reason, words }, forgetHead(memory))
}

/** Sends the message once more, although the attempt before may have arrived. */
function repeat(attempt: EndedAttempt, words: string, context: StepContext): NextStep {
  const head = headOf(context.memory, attempt)
  const budgetUsedMs = head.budgetUsedMs + timeUsed(attempt)
  const leftMs = context.policy.headBudgetMs - budgetUsedMs
  if (leftMs <= 0)
    return settle({ as: 'UNCONFIRMED', reason: 'result_unknown', words: words }, forgetHead(context.memory))
  const delayMs = Math.min(messageDelayMs(head.tries + 1, null, context.jitter), leftMs)
  return {
    disposition: { do: 'keep-queued' },
    memory: {
      head: {
        ...head,
        tries: head.tries + 1,
        budgetUsedMs: budgetUsedMs + delayMs,
        resent: true,
      },
      failureStreak: context.memory.failureStreak,
      wait: { reason: 'retrying', words, until: context.now + delayMs },
    },
  }
}

/** A rejection proves only that its own attempt was not sent. FAILED needs that proof for every attempt; `resent` means that one lacks it. */
function failedEnd(attempt: EndedAttempt, reason: string, { memory }: StepContext): End {
  const words = attempt.outcome.kind === 'rejected' ? attempt.outcome.failure.words : null
  if (headOf(memory, attempt).resent) return { as: 'UNCONFIRMED', reason: 'result_unknown', words }
  return { as: 'FAILED', reason, words }
}

function settle(end: End, memory: LaneMemory): NextStep {
  return { disposition: { do: 'finalize', ...end }, memory }
}

/** The same object when there is nothing to forget, so that the usual case writes nothing. */
function remembersNothing(memory: LaneMemory): LaneMemory {
  return memory.head || memory.failureStreak || memory.wait ? NOTHING_REMEMBERED : memory
}

function forgetHead(memory: LaneMemory): LaneMemory {
  return memory.head || memory.wait ? { head: null, failureStreak: memory.failureStreak, wait: null } : memory
}

/** A wait that the message did not cause keeps only its crashes. */
function remembered(attempt: EndedAttempt, memory: LaneMemory): HeadRetryState | null {
  return attempt.crashes > 0 ? headOf(memory, attempt) : memory.head
}

/** The retry state of the message, including the crashes of this attempt. */
function headOf(memory: LaneMemory, { sequence, crashes }: EndedAttempt): HeadRetryState {
  if (memory.head?.sequence !== sequence) return { sequence, tries: 0, budgetUsedMs: 0, resent: false, crashes }
  return crashes === 0 ? memory.head : { ...memory.head, crashes: memory.head.crashes + crashes }
}

function isPoison(attempt: EndedAttempt, memory: LaneMemory): boolean {
  return attempt.crashes > 0 && headOf(memory, attempt).crashes >= CRASHES_UNTIL_QUARANTINE
}

/** The head budget that the attempt used. The time after a crash does not count against the message. */
function timeUsed(attempt: EndedAttempt): number {
  return attempt.crashes > 0 ? 0 : Math.max(0, attempt.endedAt - attempt.startedAt)
}

function countFailure(before: FailureStreak | null, attempt: EndedAttempt): FailureStreak {
  if (!before) return { failures: 1, since: attempt.endedAt, messages: 1, lastSequence: attempt.sequence }
  return {
    failures: before.failures + 1,
    since: before.since,
    messages: before.messages + (before.lastSequence === attempt.sequence ? 0 : 1),
    lastSequence: attempt.sequence,
  }
}
