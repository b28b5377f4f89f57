import type { ConnectionId, Instant } from '../ids.ts'
import type { StoredConnection } from './connection-service.ts'
import type { SecretPlace } from './secrets.ts'

/** What a person may request of a session: link a device by a QR code or by a code that is typed, log in again, or unlink. */
export type SessionRequestKind = 'qr' | 'code' | 'use-here' | 'unlink'

/** WhatsApp did not confirm that it has unlinked the device. */
export const UNANSWERED = 'unanswered'

/** How a request ended. */
export type SessionRequestEnd =
  | 'done'
  /** The session is removed here, but the unlinking did not reach the network: the phone still lists the device. */
  | 'done-here-only'
  /** The device is linked, but the network has not let it log in yet. It is tried again by itself. */
  | 'login-pending'
  /** No phone has used the codes. */
  | 'expired'
  /** The network gave out no code for this number. */
  | 'code-refused'
  /** The phone has another number. */
  | 'other-number'
  | 'cancelled'
  /** No person watched it any more. */
  | 'unwatched'
  /** The worker of the lane does not have the packages of the channel. */
  | 'not-installed'
  /** What is stored of the session cannot be opened with this worker's key ring. */
  | 'unreadable'
  | 'failed'

/** The code that is shown to the phone (QR) or typed into it. */
interface ShownCode {
  /** From 1 on. */
  readonly number: number
  readonly of: number
  readonly until: Instant
}

/** How far a request of a person to a session has come. */
export interface SessionRequestProgress {
  readonly state: 'waiting' | 'connecting' | 'showing' | 'confirmed' | 'logging-in' | 'ended'
  /** Only while `showing`. */
  readonly shown?: ShownCode
  /** Only when `ended`. */
  readonly end?: SessionRequestEnd
  /**
   * For `other-number` its last two digits, for `done-here-only` the status that the session had or `unanswered`, otherwise the network's code or
   * the status; left out when there is none.
   */
  readonly detail?: string
}

export interface SessionRequest {
  readonly id: string
  readonly kind: SessionRequestKind
  readonly watchedUntil: Instant
  readonly progress: SessionRequestProgress
}

/** The status of a connection's session. */
export interface StoredSessionStatus {
  /** `ready`, or what keeps it from that. */
  readonly status: string
  readonly since: Instant
  /** The code with which the network ended the last line; null when there was none. */
  readonly code: number | null
  readonly refusedUntil: Instant | null
}

/** What a login has shown. */
export interface SessionLogin {
  readonly at: Instant
  /** As the network numbers the devices of the phone. */
  readonly device: string
  readonly version: string
}

/** Where the code of a request is sealed. */
export function placeOfCode(
  { id, accountId }: Pick<StoredConnection, 'id' | 'accountId'>,
  request: string,
): SecretPlace {
  return { purpose: 'session', accountId, owner: id, name: `code ${request}` }
}

/** How long a request goes on without being watched. */
export const WATCHED_FOR_MS = 60_000

export interface WrittenRequest {
  readonly connectionId: ConnectionId
  readonly id: string
  readonly progress: SessionRequestProgress
  /** Sealed. */
  readonly code: string | null
  /** Waits of the lane for these reasons end with it. */
  readonly endsWaits: readonly string[]
  readonly at: Instant
}
