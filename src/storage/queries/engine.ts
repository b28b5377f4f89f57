import { type Kysely, type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely'
import type { AccountId, ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { Sequence } from '../../core/message/message.ts'
import type { Tables } from './tables.generated.ts'

const MOST_SPANS_AT_ONCE = 32

/** A range of sequences: from `from` on, and before `before`. */
export interface Span {
  readonly from: Sequence
  readonly before: Sequence
}

interface LastWaiting {
  readonly connectionId: ConnectionId
  readonly upTo: Sequence
  readonly most: number
}

interface BackwardScan {
  readonly accountId: AccountId
  /** `before` null: the newest rows. */
  readonly lanes: readonly { readonly id: ConnectionId; readonly before: Sequence | null }[]
  readonly rows: number
}

export interface PublishedBefore {
  readonly times: readonly Instant[]
  /** True when there are no further rows. */
  readonly isWhole: boolean
}

interface ErasedMessage {
  readonly accountId: AccountId
  readonly sequence: Sequence
  readonly recipient: string
  readonly body: string
  readonly bodyCrc: number
}

/** How much waits in a lane. */
export interface LaneStatus {
  /** At most one more than the limit of the count. */
  readonly waiting: number
  readonly head: Sequence | null
}

/**
 * The queries and locks of administration that differ between engines. On SQLite, where one transaction writes at a time,
 * the locks do nothing.
 */
export interface Engine {
  /** Blocks other changes until this one is done. */
  beginChange(tables: Transaction<Tables>): Promise<void>
  /** Blocks others that change several deliveries at once until this transaction is done. */
  beginDelivering(tables: Transaction<Tables>): Promise<void>
  /** Blocks accepting for this connection until the change is done, so a query after this finds every message. */
  lockLane(tables: Transaction<Tables>, connectionId: ConnectionId): Promise<void>
  /** Blocks every change of this message, so what a query finds after this stays true. */
  lockMessage(tables: Transaction<Tables>, sequence: Sequence): Promise<void>
  /** The same for the last messages that wait in a lane, of those up to a sequence. */
  lockLastWaiting(tables: Transaction<Tables>, which: LastWaiting): Promise<void>
  /** The same for the attachments of these messages. */
  lockMedia(tables: Transaction<Tables>, sequences: readonly Sequence[]): Promise<void>
  /** Notifies running services of a changed block list. Without it they notice the change a little later by polling. */
  notifyOfBlocks(tables: Transaction<Tables>): Promise<void>
  /** Replaces the personal data of a finished message, and the network's replies to its attempts. */
  eraseMessage(tables: Transaction<Tables>, erased: ErasedMessage): Promise<void>
  /** What waits in these lanes, without counting more than `most` in any. Lanes with nothing may be left out. */
  statuses(tables: Reader, lanes: readonly ConnectionId[], most: number): Promise<ReadonlyMap<ConnectionId, LaneStatus>>
  /** The publication times of the messages of lanes within so many rows before a position in the order of acceptance. */
  publishedBefore(tables: Reader, scan: BackwardScan): Promise<ReadonlyMap<ConnectionId, PublishedBefore>>

  /** The unfinished messages in the lane of the connection `c` of an outer query, as `e` (its sequence) and `q` (the message). */
  readonly unfinishedOfC: RawBuilder<unknown>

  readonly overview: OverviewEngine

  /**
   * The spans of sequences that are stored in separate partitions, newest first. A query within one span reads no other
   * partition.
   */
  spans(tables: Kysely<Tables>): Promise<readonly Span[]>
  /** A sequence in the span, with about so many rows of the table from it to the end of the span. */
  startOfRange(
    tables: Kysely<Tables>,
    range: { readonly table: 'message' | 'request'; readonly span: Span; readonly rows: number },
  ): Promise<Sequence>
  /**
   * The rows of an account within a span, in `message` or `request`: for queries that are ordered by `account_id` and `sequence`, both in
   * the same direction. They read the index of the account and no rows of other accounts.
   */
  ofAccount(accountId: AccountId, span: Span): RawBuilder<SqlBool>
  /** The sequence of a message; null when there is none with this id. */
  locate(tables: Kysely<Tables>, id: MessageId): Promise<Sequence | null>
  /** The sequences of a few messages from about one time; unknown ids are left out. */
  locateMany(tables: Kysely<Tables>, ids: readonly MessageId[]): Promise<ReadonlyMap<MessageId, Sequence>>
  /** The value under a name in a column of JSON, as text; null where there is none. */
  jsonText(column: string, name: string): RawBuilder<string | null>
  /** The spans of requests that may repeat a message, and of messages that requests may repeat. */
  repeatsOf(message: Sequence): readonly Span[]
  repeatedBy(requests: Span): readonly Span[]
}

/** The database, or an open transaction of it. */
export type Reader = Kysely<Tables> | Transaction<Tables>

/** Whether the value of a column is in one of these spans. */
export function within(column: string, spans: readonly Span[]): RawBuilder<SqlBool> {
  const inOne = spans.map(({ from, before }) => sql`(${sql.ref(column)} >= ${from} and ${sql.ref(column)} < ${before})`)
  return sql<SqlBool>`(${sql.join(inOne, sql` or `)})`
}

export interface Range extends Span {
  readonly limit: number
}

/** Joins ever more spans into one range: most searches end in the first, and many of the others may hold nothing. */
export function* exponentialRanges(spans: readonly Span[]): Generator<Span> {
  let count = 1
  for (let at = 0; at < spans.length; at += count, count = Math.min(count * 2, MOST_SPANS_AT_ONCE)) {
    const together = spans.slice(at, at + count)
    yield { from: together.at(-1)?.from ?? 0, before: together[0]?.before ?? 0 }
  }
}

export interface NotEntered {
  readonly connectionId: ConnectionId
  readonly count: number
  readonly oldestAt: Instant
  /** The first of them. */
  readonly head: Sequence
}

/** The queries of the overview that differ between engines. */
export interface OverviewEngine {
  /**
   * The unfinished messages in the lane of the connection `c` of an outer query, as `e` (its sequence) and `q` (the message),
   * without the newest, which may not have been entered into their lane. Cheap for each of many lanes.
   */
  readonly enteredOfC: RawBuilder<unknown>
  /** The unfinished messages that have not been entered into their lanes, by lane. All accounts together have few. */
  findNotEntered(tables: Kysely<Tables>, accountId: AccountId): Promise<readonly NotEntered[]>
  /** How many messages of the account are unfinished, and `most` where there are more. */
  countWaiting(tables: Kysely<Tables>, accountId: AccountId, most: number): Promise<number>
  /**
   * Runs `work`, unless another process on this database is running it: then false. Its argument may be a transaction, which
   * must not be idle for more than a few seconds.
   */
  runAlone(tables: Kysely<Tables>, work: (tables: Reader) => Promise<void>): Promise<boolean>
  /** The size of the database in bytes. */
  databaseBytes(tables: Kysely<Tables>): Promise<number>
}
