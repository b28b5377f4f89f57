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

/** How many messages wait where as many do. */
export interface FullCounts {
  readonly connections: ReadonlyMap<ConnectionId, number>
  readonly accounts: ReadonlyMap<AccountId, number>
}

/** What the watchdog needs of an engine, beside what both can share. */
export interface WatchDatabase {
  ask(sql: string, values: readonly WatchValue[]): Promise<readonly WatchRow[]>
  /** All of them or none, durably. */
  write(statements: readonly WatchStatement[]): Promise<void>
  takeTurn(watcher: WorkerId, lastsMs: number): Promise<boolean>
  endTurn(watcher: WorkerId): Promise<void>
  /** `with busy (id) as (…)`: lanes in which something may wait, of those after the id given as first value, at most so many. */
  busyLanes(limit: number): string
  /** The sequence of the head of the connection `c`. */
  readonly headOfC: string
  /** The table or view that holds messages which have not ended. */
  readonly unfinished: string
  /**
   * `from … where …`: messages `m` that a network which calls back has taken, and of which it has not said that they were
   * delivered. By an index of the connection and the time.
   */
  readonly undelivered: string
  measureLanes(lanes: readonly LaneToMeasure[]): Promise<ReadonlyMap<ConnectionId, LaneMeasure>>
  readUnconfirmed(): Promise<readonly Unconfirmed[]>
  /** May be some minutes old; null while it is not known yet. Where `throttle` ends a count, the next call goes on with it. */
  countFull(least: LeastFull, throttle: Throttle): Promise<FullCounts | null>
}
