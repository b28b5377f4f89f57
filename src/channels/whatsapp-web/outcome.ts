import type { Failure, Outcome, RateLimitDelay } from '../../core/ports/channel.ts'
import { loginRefused } from '../../core/sentences/explain-session.ts'
import type { SessionStatus } from './close-code.ts'
import type { Found, RelayEnd } from './thread/messages.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SOON_MS = 1_000
// A person has to do something. Trying again now and then finds out that it is done.
const PERSON_ACTS_MS = 10 * MINUTE_MS
// Another worker may have the packages, and take the lane over.
const ASK_OTHERS_MS = 5_000
/** After this many refusals in a row of messages to known recipients, the cause is the number and not the recipient. */
const REFUSALS_OF_KNOWN = 3
/** The same for refusals of messages to this many recipients in a row. */
const REFUSED_RECIPIENTS = 3

/** What is known when WhatsApp has refused a message. */
export interface RefusalFacts {
  readonly now: number
  /** Until when first contacts are locked; null where it was refused for something else. */
  readonly lockedUntil: number | null
  /** WhatsApp says itself that they are. */
  readonly isLockSaid: boolean
  /** WhatsApp has taken a message to this recipient before. */
  readonly isKnown: boolean
  /** How many messages in a row it has refused with this code, this one included. */
  readonly inARow: number
  /** How many recipients these messages were to. */
  readonly recipientsInARow: number
  /** How often it has asked for a slower pace to this recipient since it last took a message, this time included. */
  readonly timesTooFast: number
  /** How often it has refused the form of this message, this time included. */
  readonly timesOfForm: number
}

/** The failure of a message that cannot be sent because of the status of its session. */
export function failureOfStatus(status: SessionStatus, now: number): Failure {
  switch (status.name) {
    case 'connecting':
      return ofConnection('connection_away', SOON_MS)
    case 'unlinked':
      return ofConnection('device_unlinked', PERSON_ACTS_MS)
    case 'banned':
      return ofConnection('number_banned', status.until === null ? HOUR_MS : within(status.until - now, HOUR_MS))
    case 'taken-elsewhere':
      return ofConnection('session_taken', PERSON_ACTS_MS)
    case 'client-refused':
      return {
        ...ofConnection('client_refused', PERSON_ACTS_MS),
        words: loginRefused(status.code),
      }
    case 'not-installed':
      return ofConnection('channel_not_installed', ASK_OTHERS_MS)
    case 'unreadable':
      return ofConnection('session_unreadable', PERSON_ACTS_MS)
  }
}

export function failureOfSearch(found: Exclude<Found, { kind: 'found' }>): Failure {
  return found.kind === 'not-on-whatsapp' ? of('permanent', 'not_on_whatsapp') : unanswered()
}

export function interrupted(): Failure {
  return of('transient', 'call_interrupted')
}

/** The look-up goes on, and the next attempt has its result. */
export function lookingUp(): Failure {
  return { ...of('recipient', 'recipient_lookup'), retryAfterMs: SOON_MS }
}

/** The attachment was not prepared, or was prepared for an older link of the phone. */
export function mediaNotReady(): Failure {
  return of('transient', 'media_not_ready')
}

/** The failure of a message to a new recipient, who may not be written to yet. */
export function deferred({ until, reason, words }: RateLimitDelay, now: number): Failure {
  return { ...of('recipient', reason), words, retryAfterMs: Math.max(SOON_MS, until - now) }
}

export function storageAway(): Failure {
  return of('transient', 'storage_unavailable')
}

/** `networkId`: the id by which WhatsApp knows the message. */
export function outcomeOfRelay(end: RelayEnd, networkId: string, facts: RefusalFacts): Outcome {
  switch (end.kind) {
    case 'acked':
      return end.error === null
        ? { kind: 'accepted', networkId }
        : { kind: 'rejected', failure: failureOfCode(end.error, facts) }
    case 'not-left':
      return { kind: 'rejected', failure: end.why === 'held-back' ? interrupted() : unanswered() }
    case 'unanswered':
      return { kind: 'unknown', words: WITHOUT_ANSWER[end.why] }
  }
}

const WITHOUT_ANSWER: Readonly<Record<Extract<RelayEnd, { kind: 'unanswered' }>['why'], string>> = {
  late: 'WhatsApp did not answer within 20 seconds',
  closed: 'the line to WhatsApp ended before its answer came',
  cancelled: 'it was interrupted before the answer of WhatsApp came',
}

/** The outcome when the thread ended that had the message. */
export const THREAD_ENDED: Outcome = { kind: 'unknown', words: WITHOUT_ANSWER.closed }

function failureOfCode(error: string, facts: RefusalFacts): Failure {
  const { now, lockedUntil, isLockSaid, isKnown, inARow, recipientsInARow, timesTooFast, timesOfForm } = facts
  const words = `WhatsApp rejected it with error ${error}`
  switch (error) {
    case '463': {
      const lockMs = Math.max(SOON_MS, (lockedUntil ?? now) - now)
      if (isKnown && isLockSaid && inARow >= REFUSALS_OF_KNOWN)
        return { ...ofConnection('number_restricted', Math.min(lockMs, HOUR_MS)), words }
      // A message to a new recipient now waits for the lock without another try. That wait has its end, even beyond an hour.
      return { ...of('recipient', 'first_contacts_locked'), words, retryAfterMs: isKnown ? lockMs : SOON_MS }
    }
    case '479':
      return { ...of(timesOfForm > 1 ? 'permanent' : 'transient', 'stanza_refused'), words }
    case '429':
      return recipientsInARow >= REFUSED_RECIPIENTS
        ? { ...ofConnection('rate_limited', doubledMinutes(inARow - REFUSED_RECIPIENTS)), words }
        : { ...of('recipient', 'recipient_rate_limited'), words, retryAfterMs: doubledMinutes(timesTooFast - 1) }
    default:
      return /^5\d\d$/.test(error)
        ? { ...of('transient', 'busy'), words, suspectsNetwork: true }
        : { ...of('transient', 'network_refused'), words }
  }
}

function doubledMinutes(times: number): number {
  return Math.min(MINUTE_MS * 2 ** Math.max(0, times), HOUR_MS)
}

function unanswered(): Failure {
  return { ...of('transient', 'network_error'), words: 'WhatsApp did not answer', suspectsNetwork: true }
}

function ofConnection(code: Failure['code'], retryAfterMs: number): Failure {
  return { ...of('connection', code), retryAfterMs }
}

function of(kind: Failure['class'], code: Failure['code']): Failure {
  return { class: kind, code, words: null, suspectsNetwork: false, retryAfterMs: null }
}

function within(ms: number, most: number): number {
  return Math.min(Math.max(ms, SOON_MS), most)
}
