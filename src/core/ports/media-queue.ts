import type { AccountId, ConnectionId, Instant, MessageId, WorkerId } from '../ids.ts'
import type { MediaFile, MediaType, Sequence } from '../message/message.ts'

/** An attachment that is still to be fetched. */
export interface MediaToFetch {
  readonly sequence: Sequence
  readonly messageId: MessageId
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly url: string
  readonly type: MediaType
  readonly tries: number
  readonly nextTryAt: Instant
  /** True when this worker holds the lane, false when no living worker does. */
  readonly isLaneHeld: boolean
}

/** A try that did not bring the file. */
export interface MediaTrial {
  /** One of MEDIA_FAILURES. */
  readonly code: string
  readonly words: string
  readonly at: Instant
}

/** A host at which no more fetches may start for an account. */
export interface FullHost {
  /** Null: for no account at all. */
  readonly accountId: AccountId | null
  /** As it stands in the URLs, with the port where they name one. */
  readonly host: string
}

/** How many files to fetch are wanted, and which not. */
export interface DueRequest {
  readonly now: Instant
  /** Fetches that this worker is busy with. They are left out. */
  readonly busy: ReadonlySet<Sequence>
  /** The account to go on after; null begins with the first. */
  readonly after: AccountId | null
  /** Hosts at which no more fetches may start. Their files are left out. */
  readonly fullHosts: readonly FullHost[]
  readonly accountsAtOnce: number
  readonly perAccount: number
  /** Accounts whose files in this spool fill this much are left out. */
  readonly quotaBytes: number
}

/** One round of files to fetch. */
export interface DueMedia {
  /** Account by account. */
  readonly media: readonly MediaToFetch[]
  /** The account to go on after; null when there are no more. More may remain even though there is no media in here. */
  readonly scannedThrough: AccountId | null
}

/** The files of messages at the heads of lanes. */
export interface HeadsMedia {
  /** Not in the spool yet, also when another worker fetches it. */
  readonly missing: readonly MediaToFetch[]
  /** Those that have their file in the spool. */
  readonly present: readonly { readonly connectionId: ConnectionId; readonly sequence: Sequence }[]
}

/** A file in a spool that belongs to a message. */
export interface SpooledFile {
  readonly sequence: Sequence
  readonly path: string
}

/** The files of final messages among those that were scanned. */
export interface Releasable {
  readonly files: readonly SpooledFile[]
  /** Where to go on; null at the end of the spool. */
  readonly scannedThrough: Sequence | null
}

/**
 * What the media stage of one worker needs of storage. Each worker has its own, which knows the worker and the spool
 * that its files lie in. A file in another spool is not there: only the processes that share a data folder can read it.
 *
 *   to fetch ── take ──▶ fetched by one worker ── ready ──▶ in the spool ── forget ──▶ gone
 *      ▲                    │ retry, or the worker died         │ lost, or its lane went to a worker of another spool
 *      └────────────────────┴───────────────────────────────────┘
 *
 * A fetch belongs to the worker that claimed it while that worker's lease is valid and no other took it over, so that two
 * workers never fetch the same file at once. `ready`, `retry` and `fail` of a worker to which it no longer
 * belongs write nothing.
 */
export interface MediaQueue extends SpoolRecords {
  /**
   * Media that may be fetched now, of several accounts in turn: the message waits, the file is not in the spool, the time of
   * the next try has come, no other living worker fetches it, and no other living worker holds the lane. Within an account,
   * lanes of this worker come first, then the oldest messages. If few of the oldest hundreds can be fetched, because most
   * must wait or their hosts are full, each query scans some hundreds more, so that one host cannot hide files at others
   * (G8). Claims nothing.
   */
  due(request: DueRequest): Promise<DueMedia>
  /**
   * The state of the files of lane heads. A head whose file lies in another spool shows that its lane has moved. The next
   * hundreds of files of that lane are then fetched into this spool, with a fresh count of tries, unless they are here already.
   * The other spool keeps its copies until the messages are final. Final messages, and those in lanes of another living worker,
   * are neither missing nor present.
   */
  checkHeads(sequences: readonly Sequence[]): Promise<HeadsMedia>
  /**
   * Claims these fetches, except those that are no longer wanted or that another living worker runs, and returns them as they
   * are now. A fetch by a worker of another spool is taken over if this worker holds the lane, because that file would be of
   * no use here. Of two concurrent claims, one gets it.
   */
  take(sequences: readonly Sequence[]): Promise<readonly MediaToFetch[]>
  /** False when the file is not wanted: the message no longer waits, or the fetch is no longer this worker's. */
  ready(
    sequence: Sequence,
    fetched: { readonly file: MediaFile; readonly tookMs: number; readonly at: Instant },
  ): Promise<boolean>
  /** Releases the fetch: any worker may claim it again from `nextTryAt` on. */
  retry(sequence: Sequence, failed: MediaTrial & { readonly nextTryAt: Instant }): Promise<void>
  /**
   * Fails the message with this reason, if it still waits and is not being handed over. One that was sent before with
   * an unknown result becomes UNCONFIRMED instead (G5).
   */
  fail(sequence: Sequence, failed: MediaTrial): Promise<void>
}

/** The records of one spool, for its maintenance. */
export interface SpoolRecords {
  /** Scans the next `limit` files after this message, and returns those whose message is final: they can be deleted. */
  releasable(after: Sequence, limit: number): Promise<Releasable>
  /** Forgets the files of these messages in this spool. Those of messages that still wait must not be named. */
  forget(sequences: readonly Sequence[]): Promise<void>
  /**
   * These files are missing in the spool. They are fetched again if their message still waits, each at most
   * until it has been fetched `mostTries` times: then its message fails with `media_lost`, as by `fail`. A file that has
   * another path by now, or whose message is being handed over, is left alone. Returns the connections whose messages this has changed.
   */
  lost(
    files: readonly SpooledFile[],
    when: { readonly at: Instant; readonly mostTries: number },
  ): Promise<readonly ConnectionId[]>
  /** The next `limit` files after this message that must be kept. */
  wantedFiles(after: Sequence, limit: number): Promise<readonly SpooledFile[]>
  /** The workers with a valid lease. This worker may be missing. */
  livingWorkers(): Promise<readonly WorkerId[]>
}
