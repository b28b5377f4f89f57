import type { Kysely, RawBuilder } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Reader } from '../reader.ts'
import type { Tables } from '../tables.generated.ts'

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
