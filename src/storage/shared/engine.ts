import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { Sequence } from '../../core/message/message.ts'
import type { Tables } from './tables.ts'

/** From the one number on, and before the other. */
export interface Span {
  readonly from: Sequence
  readonly before: Sequence
}

/**
 * What administration must do otherwise on one engine than on another. Where one transaction writes at a time, as on
 * SQLite, there is nothing to hold off.
 */
export interface Engine {
  /** Holds off the changes of other people until this one is done. */
  beginChange(tables: Transaction<Tables>): Promise<void>
  /** Holds off whoever accepts for this connection until the change is done, so that what is found after this is all. */
  lockLane(tables: Transaction<Tables>, connectionId: ConnectionId): Promise<void>
  /** Holds off whoever would hand this message over, end it, or move it on. What is found after this stays so. */
  lockMessage(tables: Transaction<Tables>, sequence: Sequence): Promise<void>
  /** The same for the last messages that wait in a lane. */
  lockLastWaiting(tables: Transaction<Tables>, connectionId: ConnectionId, most: number): Promise<void>

  /** What is unfinished in the lane of the connection `c` that an outer query stands at, as `e` (its sequence) and `q` (the message). */
  readonly unfinishedOfC: RawBuilder<unknown>

  /**
   * The numbers of messages and requests in parts that are stored apart, newest first. A query that names one of them
   * costs nothing for all the others.
   */
  spans(tables: Kysely<Tables>): Promise<readonly Span[]>
  /** A sequence in the span, with about so many rows of the table from it to the end of the span. */
  startOfStretch(
    tables: Kysely<Tables>,
    stretch: { readonly table: 'message' | 'request'; readonly span: Span; readonly rows: number },
  ): Promise<Sequence>
  /** The sequence of a message; null when there is none with this id. */
  locate(tables: Kysely<Tables>, id: MessageId): Promise<Sequence | null>
  /** Where requests lie that may repeat a message, and where messages lie that requests may repeat. */
  repeatsOf(message: Sequence): readonly Span[]
  repeatedBy(requests: Span): readonly Span[]
}
