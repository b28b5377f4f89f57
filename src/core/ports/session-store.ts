import type { AccountId, ConnectionId } from '../ids.ts'
import type { SessionLogin, SessionRequest, StoredSessionStatus, WrittenRequest } from './session-requests.ts'

/** One entry of what a session remembers. */
export interface SessionKey {
  readonly kind: string
  readonly id: string
  /** The entry is erased together with this recipient; null when it is about none. */
  readonly recipient: string | null
  /** Null removes the entry. */
  readonly value: Uint8Array | null
}

/** The right to a session: that of the lane's claim, until all lanes are held. */
export interface SessionRight {
  readonly connectionId: ConnectionId
  readonly epoch: number
  /** How often all lanes had been held when it was opened. */
  readonly holds: number
}

/** What is written in one transaction. Everything left out stays. */
export interface SessionChange {
  /** The whole new credentials. */
  readonly credentials?: Uint8Array
  /** All entries of these kinds are removed first. The session counts as reset then: see `OpenedSession.mustReset`. */
  readonly reset?: readonly string[]
  readonly keys?: readonly SessionKey[]
}

export interface OpenedSession {
  /** Null: nothing is stored, so the number is not linked. */
  readonly credentials: Uint8Array | null
  /**
   * All lanes were held since the session was last reset, so the database may have gone back and what it stores of a ratchet
   * may have been used already (G12). The channel must reset before it connects.
   */
  readonly mustReset: boolean
  /** The entries that exist, by id. */
  read(kind: string, ids: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>
  /**
   * Commits all of it, or nothing. False when the lane has been claimed again, all lanes were held since, or the session was
   * removed: then the session is no longer this worker's and must end (G6).
   */
  write(change: SessionChange): Promise<boolean>
  /** Removes all that is stored. False as for `write`. */
  remove(): Promise<boolean>
}

/** What channels with sessions store, encrypted for each connection. */
export interface SessionStore {
  /** Null when the lane has been claimed again, or all lanes are held. Throws `SecretUnreadable` without the right key. */
  open(lane: {
    readonly connectionId: ConnectionId
    readonly accountId: AccountId
    readonly epoch: number
  }): Promise<OpenedSession | null>
  /** Removes all that is stored, also what does not open. False as for `OpenedSession.write`. */
  remove(lane: Pick<SessionRight, 'connectionId' | 'epoch'>): Promise<boolean>
  /** A person's request about the session, until it has ended; null: there is none, or the lane has been claimed again. */
  findRequest(lane: Pick<SessionRight, 'connectionId' | 'epoch'>): Promise<SessionRequest | null>
  /**
   * Stores how far a request is, with the code to show to the phone or to type into it. False, and nothing is written, when the
   * request has ended or the lane has been claimed again: then it must not go on.
   */
  report(lane: OwnedLane, progress: ReportedProgress): Promise<boolean>
  /** What people see of the session. Nothing is written when the lane has been claimed again. */
  writeStatus(
    lane: Pick<SessionRight, 'connectionId' | 'epoch'>,
    status: StoredSessionStatus,
    login: SessionLogin | null,
  ): Promise<void>
}

type OwnedLane = Pick<SessionRight, 'connectionId' | 'epoch'> & { readonly accountId: AccountId }

export interface ReportedProgress extends Pick<WrittenRequest, 'id' | 'progress' | 'at'> {
  /** Left out: there is none any more. */
  readonly code?: string
  /** Waits of the lane for these reasons end with it; codes of core/reasons.ts. */
  readonly endsWaits?: readonly string[]
}

/** A stored session, as storage sees it. */
export interface SessionRow {
  /** Sealed. */
  readonly dataKey: string
  readonly credentials: Uint8Array
  /** How often all lanes had been held when it was last reset. */
  readonly holds: number
}

/** The rows of sessions. All of it is encrypted already, but not the ids. Rejects with StorageUnavailable. */
export interface SessionRows {
  /** Null when the lane has been claimed again, or all lanes are held. */
  find(lane: Pick<SessionRight, 'connectionId' | 'epoch'>): Promise<{
    readonly holds: number
    readonly row: SessionRow | null
  } | null>
  read(connectionId: ConnectionId, kind: string, ids: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>
  /** See `OpenedSession.write`. With `dataKey` the session is stored for the first time. */
  write(right: SessionRight, change: SessionChange & { readonly dataKey?: string }): Promise<boolean>
  remove(right: SessionRight): Promise<boolean>
  findRequest: SessionStore['findRequest']
  report(lane: Pick<SessionRight, 'epoch'>, written: WrittenRequest): Promise<boolean>
  writeStatus: SessionStore['writeStatus']
}
