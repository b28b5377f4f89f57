import { commandLine } from '../command-line.ts'
import type { Instant } from '../ids.ts'
import {
  type SessionRequestKind,
  type SessionRequestProgress,
  type StoredSessionStatus,
  UNANSWERED,
} from '../ports/session-requests.ts'
import { explainReason, type ReasonCode } from '../reasons.ts'
import { renderRemedy } from '../render-remedy.ts'
import { untilText } from './explain-wait.ts'

interface SessionText {
  readonly sentence: string
  /** Null: there is nothing to do. */
  readonly nextStep: string | null
  /** What to type at the command line; null: nothing. */
  readonly command: string | null
}

type Named = Pick<RequestOf, 'number' | 'kind'>

interface RequestOf {
  readonly number: string
  readonly kind: SessionRequestKind
  /** Whether any message waits on the number. */
  readonly hasWaiting: boolean
}

const REASON_OF_STATUS: Readonly<Record<string, ReasonCode>> = {
  unlinked: 'device_unlinked',
  banned: 'number_banned',
  'taken-elsewhere': 'session_taken',
  'client-refused': 'client_refused',
  'not-installed': 'channel_not_installed',
  unreadable: 'session_unreadable',
}
/** Statuses with which nothing can be sent until a person or the network acts. */
export const STATUSES_WITHOUT_LOGIN = Object.keys(REASON_OF_STATUS)
const TRIED_AGAIN = 'You need not do anything: it is tried again by itself.'
const TOO_MANY = '429'
const UNREADABLE = 'unreadable'

type SessionStatus = Pick<StoredSessionStatus, 'status' | 'code' | 'refusedUntil'>

/** What a session waits for that is not ready; null: it is, or it is tried again at once. */
export function whyNotLoggedIn({ status, code, refusedUntil }: SessionStatus): {
  readonly reason: ReasonCode
  readonly words: string | null
  readonly until: Instant | null
} | null {
  const reason = REASON_OF_STATUS[status]
  if (reason === undefined) return null
  return { reason, words: reason === 'client_refused' ? loginRefused(code) : null, until: refusedUntil }
}

/** The words of a `client_refused`. */
export function loginRefused(code: number | null): string | null {
  return code === null ? null : `WhatsApp rejected the login with code ${code}`
}

const NEVER_LINKED = { reason: 'device_unlinked', words: null, until: null } as const

/** The status of a number’s session, in sentences; null: nothing is known of it. */
export function explainSession(number: string, session: SessionStatus | null, now: Instant): SessionText {
  if (session?.status === 'ready') return just(`${number} is linked and logged in.`)
  const why = session ? whyNotLoggedIn(session) : NEVER_LINKED
  if (why === null)
    return { sentence: `${number} is not logged in at this moment.`, nextStep: TRIED_AGAIN, command: null }
  return ofReason(number, { ...why, until: untilText(why, undefined, now) })
}

/** Why the phone may list the device still. */
function unlinkObstacle(detail: string | null | undefined): string {
  if (detail === UNREADABLE)
    return 'its session could not be decrypted to say so to WhatsApp: the phone still lists this device.'
  const why = detail === UNANSWERED ? 'WhatsApp did not confirm it' : 'WhatsApp could not be reached'
  return `${why}: the phone may still list this device.`
}

/** How a request about a session has ended. */
export function explainRequestEnd(
  { number, kind, hasWaiting }: RequestOf,
  { end = 'failed', detail }: Pick<SessionRequestProgress, 'end' | 'detail'>,
): SessionText {
  const again = { command: againCommand({ number, kind }) }
  const nothing = kind === 'qr' || kind === 'code' ? 'Nothing was linked.' : 'Nothing was changed.'
  switch (end) {
    case 'done':
      return just(`${DONE[kind](number)}${hasWaiting && kind !== 'unlink' ? ' What waits is sent now.' : ''}`)
    case 'done-here-only':
      return {
        sentence: `${number} is unlinked here, but ${unlinkObstacle(detail)}`,
        nextStep: 'On the phone, open Linked devices and log this device out.',
        command: null,
      }
    case 'login-pending':
      return {
        sentence: `WhatsApp has not let ${number} log in yet.`,
        nextStep: TRIED_AGAIN,
        command: null,
      }
    case 'expired':
      return kind === 'code'
        ? { sentence: 'The code has expired: it was not typed into the phone.', nextStep: 'Show a new code.', ...again }
        : { sentence: 'The QR codes have run out: no phone has scanned one.', nextStep: 'Show new codes.', ...again }
    case 'code-refused':
      return {
        sentence: `WhatsApp gives out no code for ${number}${detail ? ` (error ${detail})` : ''}.`,
        nextStep:
          detail === TOO_MANY
            ? 'It was asked too often. Wait an hour, or scan a QR code instead.'
            : 'Check that the number is right, or scan a QR code instead.',
        command: commandLine`connection pair ${number}`,
      }
    case 'other-number':
      return {
        sentence: `That was another phone: its number ends in ${detail ?? '?'}, and this connection is ${number}. Nothing was linked.`,
        nextStep: `Use the phone with the number ${number}.`,
        ...again,
      }
    case 'cancelled':
      return { sentence: `It was cancelled. ${nothing}`, nextStep: null, ...again }
    case 'unwatched':
      return {
        sentence: `It was not watched for a minute, so it ended. ${nothing}`,
        nextStep: 'Begin again.',
        ...again,
      }
    case 'not-installed':
      return ofReason(number, { reason: 'channel_not_installed' })
    case 'unreadable':
      return ofReason(number, { reason: 'session_unreadable' })
    case 'failed':
      return failed({ number, kind }, detail)
  }
}

const DONE: Readonly<Record<SessionRequestKind, (number: string) => string>> = {
  qr: (number) => `${number} is linked.`,
  code: (number) => `${number} is linked.`,
  'use-here': (number) => `${number} is logged in here again.`,
  unlink: (number) => `${number} is unlinked. Messages wait until a phone is linked again.`,
}

function failed({ number, kind }: Named, detail: string | undefined): SessionText {
  const reason = REASON_OF_STATUS[detail ?? '']
  if (reason !== undefined) return ofReason(number, { reason })
  return {
    sentence: `The line to WhatsApp ended before it was done${detail ? ` (code ${detail})` : ''}.`,
    nextStep: 'Try again in a minute.',
    command: againCommand({ number, kind }),
  }
}

function againCommand({ number, kind }: Named): string {
  switch (kind) {
    case 'qr':
      return commandLine`connection pair ${number}`
    case 'code':
      return commandLine`connection pair ${number} --code`
    case 'use-here':
      return commandLine`connection use-here ${number}`
    case 'unlink':
      return commandLine`connection unlink ${number}`
  }
}

function ofReason(
  number: string,
  {
    reason,
    words = null,
    until,
  }: {
    readonly reason: ReasonCode
    readonly words?: string | null
    readonly until?: string | undefined
  },
): SessionText {
  const { cause, nextStep, command } = explainReason(reason, { words, facts: { number, until } })
  return { sentence: cause, nextStep, command: command === null ? null : renderRemedy(command, { number }) }
}

function just(sentence: string): SessionText {
  return { sentence, nextStep: null, command: null }
}
