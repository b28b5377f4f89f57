import type { AccountId, ConnectionId, Instant, TokenId } from '../../ids.ts'
import type { MessageState, MessageType } from '../../message/message.ts'
import type { EndedToken } from '../../token/token.ts'
import type { Actor, ConnectionState, MessageTimeline, RequestView } from '../administration.ts'
import type { Tallies, TallyBar, Totals } from './overview.ts'

/** A null filters nothing. */
export interface LogFilter {
  readonly view: 'all' | 'attention' | 'failed' | 'rejected'
  readonly state: MessageState | null
  /** The entries that one figure of the overview counts, which are never repeats. `accepted`: every message. */
  readonly result: keyof Tallies | 'accepted' | 'all' | null
  /** Only messages that were not resolved or sent again. */
  readonly isOpen: boolean
  /** Both ends belong to it. */
  readonly statuses: { readonly from: number; readonly to: number } | null
  /** The sender number, also one that is no connection: such requests were refused. */
  readonly connection: string | null
  readonly tokenIds: readonly TokenId[] | null
  readonly type: MessageType | null
  /** All of a recipient's digits, or what it begins with. */
  readonly recipient: { readonly digits: string; readonly isWhole: boolean } | null
  /** Both ends belong to it. */
  readonly since: Instant | null
  readonly until: Instant | null
  /** Why a message ended as it did, the whole code. Only messages are found by it: a refused request has no reason. */
  readonly reason: string | null
  /** Searched without regard to case in codes, and unless `isMasked` in texts, file names and texts of errors and networks. */
  readonly text: string | null
  /** The id of a message or of a request. */
  readonly id: string | null
  /** True: does not search what viewers do not see, which is what callers wrote and texts that may quote it. */
  readonly isMasked: boolean
}

/** Lets everything pass. */
export const NO_FILTER: LogFilter = {
  view: 'all',
  state: null,
  result: null,
  isOpen: false,
  statuses: null,
  connection: null,
  tokenIds: null,
  type: null,
  recipient: null,
  since: null,
  until: null,
  reason: null,
  text: null,
  id: null,
  isMasked: false,
}

/** A row of the log: a request, a message that a person made, or a sum of similar refused requests. */
export interface LogEntryView
  extends Omit<RequestView, 'account' | 'token' | 'requestId' | 'outcome' | 'status' | 'code'> {
  /** The id of the message where it made one, else that of the request. A sum has one of its own. */
  readonly id: string
  /** Null: a person sent another message again as this one, or it is a sum. */
  readonly requestId: string | null
  /** Both are null if a person made the message. */
  readonly status: number | null
  readonly code: string | null
  readonly outcome: 'accepted' | 'repeated' | 'refused' | 'copied'
  /** Who sent another message again as this one: a person, the CLI or a channel. Null for all others. */
  readonly madeBy: string | null
  /** Who sent this message again; null when it was not. */
  readonly resentBy: string | null
  readonly token: {
    readonly id: TokenId
    readonly name: string
    readonly prefix: string
    /** Null: it is not deleted. */
    readonly deletedAt: Instant | null
  } | null
  readonly connectionId: ConnectionId | null
  /** What people call it; null: it has no name, or there is none. */
  readonly connectionName: string | null
  /** Why the message ended as it did. */
  readonly reason: string | null
  readonly reasonWords: string | null
  readonly attempts: number | null
  /** The beginning of its text, or of the name and caption of its file. Null: there is none, or it was deleted. */
  readonly preview: string | null
  /** It waits, and its connection is paused. */
  readonly isPaused: boolean
  /** The channel of its connection; null if it made no message. */
  readonly channel: string | null
  /** From its acceptance until the network accepted it. Null: it has not, or the entry is a repeat. */
  readonly sentAfterMs: number | null
  /** The state in which a repeat found its message, from which the answer follows. Null for other requests. */
  readonly stateThen: MessageState | null
}

export interface LogPageView {
  /** Newest first. */
  readonly entries: readonly LogEntryView[]
  /** The cursor for older entries; null: there are none. A page may be empty and still have one. */
  readonly next: string | null
  /** With a `next`: everything since then has been scanned. */
  readonly scannedBackTo: Instant | null
}

/** How many messages and refused requests match, by result and over time. Repeats of a request are not counted. */
interface LogCounts {
  readonly barMs: number
  /** From the first time of the filter on, without gaps; the first bar may begin a little before. */
  readonly bars: readonly TallyBar[]
  readonly totals: Totals
}

export interface LogMedia {
  readonly type: MessageType
  readonly name: string | null
  readonly url: string
  readonly state: 'pending' | 'ready' | 'failed' | 'forgotten'
  readonly sizeBytes: number | null
  readonly mime: string | null
  readonly sha256: string | null
  readonly tookMs: number | null
  readonly tries: number
}

export interface LogTimeline {
  readonly entry: LogEntryView
  /** Why its token was no longer valid when the request came; null if it was valid, or if that is not known. */
  readonly endedToken: EndedToken | null
  /** What the request carried, as it came; null when it was not read, is no text, or was deleted. */
  readonly body: string | null
  /** The text or caption of the body, and the name of its file; null when there is neither. */
  readonly content: { readonly text: string | null; readonly fileName: string | null } | null
  /** When its content was deleted after its retention time. */
  readonly bodyDeletedAt: Instant | null
  /** Null where the request made no message. For a repeat: the message that was made before. */
  readonly message: MessageTimeline | null
  readonly connection: {
    readonly id: ConnectionId
    readonly number: string
    readonly name: string | null
    readonly channel: string
    readonly state: ConnectionState
  } | null
  /** Whether a person may still say what became of it. */
  readonly isUnresolved: boolean
  readonly media: LogMedia | null
}

/** The API log of one account, as the console shows it. */
export interface ApiLog {
  /**
   * One page, newest first. Scans at most some 20,000 rows; the next page continues from there. Rows that arrive later are on
   * none of the later pages, so no row is on two pages or left out. Refuses a cursor that it did not make with `argument_invalid`.
   */
  readPage(
    accountId: AccountId,
    wanted: { readonly filter: LogFilter; readonly cursor: string | null; readonly limit: number },
  ): Promise<LogPageView>

  /**
   * Reads at most some 10,000 rows. If there are more, a filter that has only times is answered from the hourly counts of the
   * overview, and any other filter with null. A filter without `since` is always answered with null.
   */
  countByTime(
    accountId: AccountId,
    wanted: { readonly filter: LogFilter; readonly offsetMinutes: number },
  ): Promise<LogCounts | null>

  /**
   * Everything about one entry, by the id of its message or of its request. Refuses with `request_unknown`, also for
   * those of another account. An accepted request is found by its own id only among the newest 10,000.
   */
  readEntry(accountId: AccountId, id: string): Promise<LogTimeline>

  /** Records in the audit log that the results of a filter were exported. */
  noteExport(
    accountId: AccountId,
    taken: { readonly format: string; readonly filter: string },
    actor: Actor,
  ): Promise<void>
}
