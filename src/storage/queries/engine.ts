import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { AccountId, ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { Sequence } from '../../core/message/message.ts'
import type { OverviewEngine } from './overview/overview-engine.ts'
import type { Reader } from './reader.ts'
import type { Tables } from './tables.ts'

/** From the one number on, and before the other. */
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

/** What waits in a lane. */
export interface Standing {
  /** One more than the most that were to be counted: there may be any number. */
  readonly waiting: number
  readonly head: Sequence | null
}

/**
 * What administration must do otherwise on one engine than on another. Where one transaction writes at a time, as on
 * SQLite, there is nothing to hold off.
 */
export interface Engine {
  /** Holds off the changes of other people until this one is done. */
  beginChange(tables: Transaction<Tables>): Promise<void>
  /** Holds off whoever else takes deliveries, until this transaction is done. */
  beginDelivering(tables: Transaction<Tables>): Promise<void>
  /** Holds off whoever accepts for this connection until the change is done, so that what is found after this is all. */
  lockLane(tables: Transaction<Tables>, connectionId: ConnectionId): Promise<void>
  /** Holds off whoever would hand this message over, end it, or move it on. What is found after this stays so. */
  lockMessage(tables: Transaction<Tables>, sequence: Sequence): Promise<void>
  /** The same for the last messages that wait in a lane, of those up to a sequence. */
  lockLastWaiting(tables: Transaction<Tables>, which: LastWaiting): Promise<void>
  /** Lets running services know at once that a block list has changed: they would notice it by themselves, a moment later. */
  notifyOfBlocks(tables: Transaction<Tables>): Promise<void>
  /** Puts these in the place of what a message that has ended held of its recipient, with all that its attempts were told. */
  eraseMessage(tables: Transaction<Tables>, erased: ErasedMessage): Promise<void>
  /** What waits in these lanes, without counting more than `most` in any. Lanes with nothing may be left out. */
  statuses(tables: Reader, lanes: readonly ConnectionId[], most: number): Promise<ReadonlyMap<ConnectionId, Standing>>
  /** When those messages of lanes were published that lie among so many rows before a place in the order of acceptance. */
  publishedBefore(tables: Reader, look: BackwardScan): Promise<ReadonlyMap<ConnectionId, PublishedBefore>>

  /** What is unfinished in the lane of the connection `c` that an outer query stands at, as `e` (its sequence) and `q` (the message). */
  readonly unfinishedOfC: RawBuilder<unknown>

  readonly overview: OverviewEngine

  /**
   * The numbers of messages and requests in parts that are stored apart, newest first. A query that names one of them
   * costs nothing for all the others.
   */
  spans(tables: Kysely<Tables>): Promise<readonly Span[]>
  /** A sequence in the span, with about so many rows of the table from it to the end of the span. */
  startOfRange(
    tables: Kysely<Tables>,
    range: { readonly table: 'message' | 'request'; readonly span: Span; readonly rows: number },
  ): Promise<Sequence>
  /** The sequence of a message; null when there is none with this id. */
  locate(tables: Kysely<Tables>, id: MessageId): Promise<Sequence | null>
  /** The sequences of a handful of messages that were made at about one time; without those that are not there. */
  locateMany(tables: Kysely<Tables>, ids: readonly MessageId[]): Promise<ReadonlyMap<MessageId, Sequence>>
  /** What stands in a column of JSON text under a name, as text; null where nothing does. */
  jsonText(column: string, name: string): RawBuilder<string | null>
  /** Where requests lie that may repeat a message, and where messages lie that requests may repeat. */
  repeatsOf(message: Sequence): readonly Span[]
  repeatedBy(requests: Span): readonly Span[]
}
