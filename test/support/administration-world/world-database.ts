import type { Instant } from '../../../src/core/ids.ts'
import type { Administration } from '../../../src/core/ports/administration.ts'
import type { Store } from '../../../src/storage/queries/store.ts'

export const ENGINES = ['SQLite', 'PostgreSQL'] as const
export type EngineName = (typeof ENGINES)[number]

export type Value = string | number | null | Uint8Array
export type Row = Record<string, unknown>

/** A database of one test, with what the service would have written beside administration. */
export interface WorldDatabase {
  readonly administration: Administration
  /** The store of the console on the same database. */
  readonly store: Store
  /** The table of ended attempts. */
  readonly attempts: 'attempt' | 'ended_attempt'
  /** One statement in SQL that both engines understand, with `?` for its values. */
  run(sql: string, ...values: readonly Value[]): Promise<void>
  all(sql: string, ...values: readonly Value[]): Promise<Row[]>
  /** Adds a row that belongs to a connection. PostgreSQL also stores the account of the connection. */
  insertOfLane(
    table: 'lane' | 'open_attempt',
    row: Readonly<Record<string, Value>> & { connection_id: string },
  ): Promise<void>
  /** Changes columns that the service never changes once a message is stored. */
  rewriteMessage(sequence: number, values: Readonly<Record<string, Value>>): Promise<void>
  /** Leaves a wide gap between the numbers of stored messages and those of the next ones. */
  leaveGap(): Promise<void>
  /** The connections that changed, in the order in which the service was notified of them. */
  changedLanes(): Promise<string[]>
  close(): Promise<void>
}

export type OpenWorldDatabase = (now: () => Instant) => Promise<WorldDatabase>
