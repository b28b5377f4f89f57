import type { Kysely, RawBuilder } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Reader } from '../reader.ts'
import type { Tables } from '../tables.ts'

export interface NotEntered {
  readonly connectionId: ConnectionId
  readonly count: number
  readonly oldestAt: Instant
  /** The first of them. */
  readonly head: Sequence
}

/** What the overview must do otherwise on one engine than on another. */
export interface OverviewEngine {
  /**
   * What is unfinished in the lane of the connection `c` that an outer query stands at, as `e` (its sequence) and `q`
   * (the message), but for the newest, which may not have been entered into their lane. Cheap for each of many lanes.
   */
  readonly enteredOfC: RawBuilder<unknown>
  /** What is unfinished and has not been entered into its lane, lane by lane. Over all accounts there is not much of it. */
  findNotEntered(tables: Kysely<Tables>, accountId: AccountId): Promise<readonly NotEntered[]>
  /** How many messages of the account are unfinished, and `most` where there are more. */
  countWaiting(tables: Kysely<Tables>, accountId: AccountId, most: number): Promise<number>
  /**
   * Runs `work`, unless another process on this database does so at this moment: then false. What it is given may be a
   * transaction, and must not be left alone for more than a few seconds.
   */
  runAlone(tables: Kysely<Tables>, work: (tables: Reader) => Promise<void>): Promise<boolean>
  /** How much room the database takes, in bytes. */
  databaseBytes(tables: Kysely<Tables>): Promise<number>
}
