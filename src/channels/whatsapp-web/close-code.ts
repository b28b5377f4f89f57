/** Why a session is not ready. */
export type SessionStatus =
  /** Not logged in at this moment; it is tried again by itself. */
  | { readonly name: 'connecting' }
  /** The device was unlinked on the phone, or never linked. */
  | { readonly name: 'unlinked' }
  /** WhatsApp has banned the number; `until` null: for good. */
  | { readonly name: 'banned'; readonly until: number | null }
  /** The same device logged in somewhere else. */
  | { readonly name: 'taken-elsewhere' }
  /** WhatsApp does not accept this client at present. */
  | { readonly name: 'client-refused'; readonly code: number }
  /** The packages of the channel are not on this machine. */
  | { readonly name: 'not-installed' }
  /** What is stored of the session cannot be opened with this key ring. */
  | { readonly name: 'unreadable' }

/** How a line to WhatsApp ended. */
interface Close {
  /** WhatsApp's code; null when there was none. */
  readonly code: number | null
  readonly expiresInMs: number | null
  /** How many lines in a row have ended before they were ready, this one included. */
  readonly failures: number
  /** How many lines WhatsApp has ended in the last minute to have them opened again. */
  readonly restarts: number
  readonly now: number
  /** A number in [0, 1). */
  readonly random: number
}

export interface AfterClose {
  readonly status: SessionStatus
  /** Null: never by itself. */
  readonly reconnectAfterMs: number | null
}

const MINUTE_MS = 60_000
const LONGEST_BACKOFF_MS = MINUTE_MS
// About ten minutes of failing, at the longest back-off.
const MANY_FAILURES = 15
const BACKOFF_OF_MANY_MS = 5 * MINUTE_MS
const MOST_RESTARTS = 3
const MOST_SERVER_ERRORS = 5
const CLIENT_REFUSED_MS = 15 * MINUTE_MS
const LOGIN_REFUSED_MS = 60 * MINUTE_MS
const BAN_OF_UNKNOWN_LENGTH_MS = 24 * 60 * MINUTE_MS

/** What the codes mean that WhatsApp ends a line with, and when a new one is opened. */
export function decideAfterClose(close: Close): AfterClose {
  const { code, now } = close
  switch (code) {
    case 515:
      return { status: CONNECTING, reconnectAfterMs: close.restarts <= MOST_RESTARTS ? 0 : backoffMs(close) }
    case 401:
    case 406:
      return { status: { name: 'unlinked' }, reconnectAfterMs: null }
    case 403:
      return { status: { name: 'banned', until: null }, reconnectAfterMs: null }
    case 402: {
      const lastsMs = close.expiresInMs ?? BAN_OF_UNKNOWN_LENGTH_MS
      return { status: { name: 'banned', until: now + lastsMs }, reconnectAfterMs: lastsMs }
    }
    case 440:
      return { status: { name: 'taken-elsewhere' }, reconnectAfterMs: null }
    case 400:
    case 405:
      return { status: { name: 'client-refused', code }, reconnectAfterMs: CLIENT_REFUSED_MS }
    case 409:
    case 411:
    case 413:
    case 414:
    case 415:
    case 416:
    case 417:
    case 418:
      return { status: { name: 'client-refused', code }, reconnectAfterMs: LOGIN_REFUSED_MS }
    case 500: {
      const isStubborn = close.failures >= MOST_SERVER_ERRORS
      return { status: CONNECTING, reconnectAfterMs: isStubborn ? CLIENT_REFUSED_MS : backoffMs(close) }
    }
    default:
      return { status: CONNECTING, reconnectAfterMs: backoffMs(close) }
  }
}

export const CONNECTING: SessionStatus = { name: 'connecting' }

/** Doubling from a second, jittered, so that sessions which lost their line together do not all come back at once. */
export function backoffMs({ failures, random }: Pick<Close, 'failures' | 'random'>): number {
  const longest = failures > MANY_FAILURES ? BACKOFF_OF_MANY_MS : LONGEST_BACKOFF_MS
  const ms = failures > MANY_FAILURES ? longest : Math.min(1_000 * 2 ** Math.max(0, failures - 1), longest)
  return Math.round(ms * (0.5 + random))
}
