import type { Actor } from '../administration.ts'
import type {
  SessionLogin,
  SessionRequestKind,
  SessionRequestProgress,
  StoredSessionStatus,
} from '../session-requests.ts'
import type { OfConnection } from './lanes.ts'

/** A person's request about a session, as people watch it. */
export interface SessionRequestView {
  readonly id: string
  readonly kind: SessionRequestKind
  /** Who asked for it: as in the audit log. */
  readonly by: string
  readonly progress: SessionRequestProgress
  /** Sealed (`placeOfCode`); null while there is none to show. */
  readonly code: string | null
  /** Whether any worker runs that could take it up. */
  readonly hasWorker: boolean
}

export interface DeviceSessionView extends StoredSessionStatus {
  /** Whether a device is linked, so that it can be unlinked. */
  readonly isLinked: boolean
  /** Null: it never logged in. */
  readonly lastLogin: SessionLogin | null
}

/**
 * The sessions of connections that are linked devices: what people see of them, and their requests. The worker that holds the
 * lane carries a request out. Everything is of one account, as in `LaneViews`.
 */
export interface DeviceSessions {
  /** Null: nothing is known of it yet, and no device is linked. */
  read(of: OfConnection): Promise<DeviceSessionView | null>
  /**
   * Begins a request, which replaces an earlier one of the same person. Refuses with `session_request_running` while another
   * person watches another request, with `number_not_linked` when there is no session to log in or to unlink, and with
   * `links_exhausted` when devices were linked too often in the last hour.
   */
  request(of: OfConnection, kind: SessionRequestKind, actor: Actor): Promise<SessionRequestView>
  /** Keeps it going for another minute. Refuses with `session_request_unknown` when another one took its place. */
  watch(of: OfConnection, id: string): Promise<SessionRequestView>
  /** Ends it, unless the phone has confirmed it already. Harmless when it has ended. */
  cancel(of: OfConnection, id: string, actor: Actor): Promise<void>
}

/** When a device may be linked again: see `links_exhausted`. */
export const MOST_LINKS_PER_HOUR = 10
export const LINKS_COUNTED_MS = 3_600_000
