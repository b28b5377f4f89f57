import type { AccountId, ConnectionId, WorkerId } from '../../../core/ids.ts'
import type { LaneMeasure, LaneToMeasure, Throttle, Unconfirmed } from '../../../core/ports/watch.ts'

export type WatchValue = string | number | null
export type WatchRow = Readonly<Record<string, unknown>>
export interface WatchStatement {
  /** With `?` for each value. */
  readonly sql: string
  readonly values: readonly WatchValue[]
}

/** From how many waiting messages on a connection or an account is worth a mention. Infinity where there is no limit. */
export interface LeastFull {
  readonly perConnection: number
  readonly perAccount: number
}

/** How many messages wait, where at least as many do. */
export interface FullCounts {
  readonly connections: ReadonlyMap<ConnectionId, number>
  readonly accounts: ReadonlyMap<AccountId, number>
}

/** The queries of the watchdog that differ between engines. */
export interface WatchDatabase {
  query(sql: string, values: readonly WatchValue[]): Promise<readonly WatchRow[]>
  /** All of them or none, durably. */
  write(statements: readonly WatchStatement[]): Promise<void>
  acquireLease(watcher: WorkerId, lastsMs: number): Promise<boolean>
  releaseLease(watcher: WorkerId): Promise<void>
  /** `with busy (id) as (…)`: at most `limit` lanes in which something may wait, after the id given as first value. */
  busyLanes(limit: number): string
  /** The sequence of the head of the connection `c`. */
  readonly headOfC: string
  /** The table or view of unfinished messages. */
  readonly unfinished: string
  /**
   * `from … where …`: messages `m` that a network with callbacks accepted and has not reported as delivered. By an index of
   * the connection and the time.
   */
  readonly undelivered: string
  measureLanes(lanes: readonly LaneToMeasure[]): Promise<ReadonlyMap<ConnectionId, LaneMeasure>>
  readUnconfirmed(): Promise<readonly Unconfirmed[]>
  /** May be some minutes old; null while it is not known yet. If `throttle` ends a count, the next call continues it. */
  countFull(least: LeastFull, throttle: Throttle): Promise<FullCounts | null>
}
