import type { ConnectionId, Instant } from '../../ids.ts'
import type { QueuedMessage } from '../../message/message.ts'
import { ownWaitFacts } from '../../message/own-wait.ts'
import type { Evidence, Handover, OpenQuestion, Outcome } from '../../ports/channel.ts'
import type { JournalEvent } from '../../ports/journal.ts'
import type {
  AttemptFacts,
  AttemptRecord,
  ClaimedLane,
  Disposition,
  LaneTransition,
  LaneWait,
} from '../../ports/lanes.ts'
import type { MessageDecision } from './decide-message.ts'
import type { EndedAttempt } from './next-step.ts'

/** An attempt that was committed, and whose outcome is not recorded. */
export interface StartedAttempt {
  readonly message: QueuedMessage
  readonly number: number
  readonly startedAt: Instant
  /** How often a worker died while it was open. */
  readonly crashes: number
  /** See `OpenAttempt`. */
  readonly isPossiblySuperseded: boolean
}

/** An attempt with the transition that records its outcome. */
export interface FinishedAttempt extends StartedAttempt {
  readonly finish: NonNullable<LaneTransition['finish']>
}

/** The next attempt of a message. */
export function attemptOf(message: QueuedMessage, startedAt: Instant): StartedAttempt {
  return { message, number: message.attempts + 1, startedAt, crashes: 0, isPossiblySuperseded: false }
}

export function endedWith(started: StartedAttempt, endedAt: Instant, outcome: Outcome): EndedAttempt {
  const { message, number, startedAt, crashes, isPossiblySuperseded } = started
  return {
    sequence: message.sequence,
    number,
    startedAt,
    endedAt,
    outcome,
    crashes,
    isEvidenceFinal: false,
    isPossiblySuperseded,
    retry: message.retry,
  }
}

/** There was no call, so the message is the next of its lane again. */
export function finishUncalled(
  started: StartedAttempt,
  now: Instant,
  code: 'call_interrupted' | 'recipient_blocked',
): FinishedAttempt {
  const failure = { class: 'connection', code, words: null, suspectsNetwork: false, retryAfterMs: null } as const
  const attempt = recordOf(endedWith(started, now, { kind: 'rejected', failure }))
  return { ...started, finish: { attempt, disposition: { do: 'keep-queued', retry: started.message.retry } } }
}

/** The question to a channel about an attempt with an unknown result. */
export function question({ message, number, startedAt }: StartedAttempt): OpenQuestion {
  const { id, accountId, connectionId, recipient } = message
  return { messageId: id, accountId, connectionId, to: recipient, attemptNumber: number, startedAt }
}

/** The input of a channel call. A damaged message never gets this far: `decideMessage` discards it. */
export function handover(lane: ClaimedLane, attempt: StartedAttempt): Handover {
  const { message } = attempt
  if (!message.content) throw new Error(`message ${message.id} is damaged and must not be sent`)
  return {
    messageId: message.id,
    accountId: message.accountId,
    connectionId: lane.connectionId,
    from: lane.number,
    to: message.recipient,
    content: message.content,
    media: message.media?.kind === 'ready' ? message.media.file : null,
    attemptNumber: attempt.number,
    startedAt: attempt.startedAt,
    settings: lane.channelSettings,
  }
}

/**
 * Discounts evidence that a possibly superseded attempt did not arrive: later attempts, which a database that was set back
 * has lost, may have arrived (G12).
 */
export function discountEvidence(evidence: Evidence, { isPossiblySuperseded }: StartedAttempt): Evidence {
  return isPossiblySuperseded && evidence.kind === 'not-sent' ? { kind: 'nothing-ever' } : evidence
}

/** The outcome that follows from evidence. Without any it stays unknown. */
export function outcomeOf(evidence: Evidence, words: string): Outcome {
  switch (evidence.kind) {
    case 'accepted':
      return { kind: 'accepted', networkId: evidence.networkId }
    case 'not-sent':
      return {
        kind: 'rejected',
        failure: {
          class: 'transient',
          code: 'evidence_not_sent',
          words: evidence.words,
          suspectsNetwork: false,
          retryAfterMs: null,
        },
      }
    case 'nothing-yet':
    case 'nothing-ever':
      return { kind: 'unknown', words }
  }
}

/** The attempt's row in the log. */
export function recordOf({
  sequence,
  number,
  startedAt,
  endedAt,
  outcome,
  isEvidenceFinal,
  retry,
}: EndedAttempt): AttemptRecord {
  const facts = factsOf(outcome, retry)
  const attempt = { sequence, number, startedAt, endedAt, outcome: outcome.kind, ...(facts && { facts }) }
  switch (outcome.kind) {
    case 'accepted':
      return {
        ...attempt,
        code: isEvidenceFinal ? 'evidence_found' : null,
        words: null,
        networkId: outcome.networkId,
      }
    case 'rejected':
      return { ...attempt, code: outcome.failure.code, words: outcome.failure.words, networkId: null }
    case 'unknown':
      return { ...attempt, code: 'result_unknown', words: outcome.words, networkId: null }
  }
}

/** Null in the usual case, which costs storage nothing. */
function factsOf({ sentAs }: Outcome, retry: EndedAttempt['retry']): AttemptFacts | null {
  const waited = ownWaitFacts(retry)
  return sentAs || waited ? { ...sentAs, ...waited } : null
}

export function finished(
  lane: { readonly connectionId: ConnectionId; readonly channel: string },
  message: QueuedMessage,
  { attempt, disposition }: { readonly attempt: AttemptRecord; readonly disposition: Disposition },
): JournalEvent {
  return {
    event: 'attempt.finished',
    messageId: message.id,
    connectionId: lane.connectionId,
    channel: lane.channel,
    number: attempt.number,
    outcome: attempt.outcome,
    code: attempt.code,
    startedAt: attempt.startedAt,
    tookMs: attempt.endedAt - attempt.startedAt,
    waitedMs: attempt.startedAt - message.acceptedAt,
    next: disposition.do === 'finalize' ? disposition.as : 'QUEUED',
  }
}

export function waits(connectionId: ConnectionId, { reason, until }: LaneWait): JournalEvent {
  return { event: 'lane.waiting', connectionId, reason, until }
}

export function deferred(
  { id: messageId, connectionId }: QueuedMessage,
  { reason, until }: { readonly reason: string; readonly until: Instant | null },
): JournalEvent {
  return { event: 'message.deferred', messageId, connectionId, reason, until }
}

export function discarded(message: QueuedMessage, decision: Extract<MessageDecision, { do: 'discard' }>): JournalEvent {
  const { as, reason } = decision
  return { event: 'message.dropped', messageId: message.id, connectionId: message.connectionId, as, reason }
}
