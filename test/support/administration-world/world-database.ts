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
  /** For what the console does with the same database. */
  readonly store: Store
  /** Where attempts lie that have ended. */
  readonly attempts: 'attempt' | 'ended_attempt'
  /** One statement in SQL that both engines understand, with `?` for its values. */
  run(sql: string, ...values: readonly Value[]): Promise<void>
  all(sql: string, ...values: readonly Value[]): Promise<Row[]>
  /** A row that belongs to a connection; PostgreSQL also wants to know its account. */
  insertOfLane(
    table: 'lane' | 'open_attempt',
    row: Readonly<Record<string, Value>> & { connection_id: string },
  ): Promise<void>
  /** Changes what is never changed once a message is stored. */
  rewriteMessage(sequence: number, values: Readonly<Record<string, Value>>): Promise<void>
  /** Makes a wide gap in the numbers of messages, before whatever is accepted next. */
  leaveGap(): Promise<void>
  /** The connections whose lanes the service was asked to check, in order. */
  changedLanes(): Promise<string[]>
  close(): Promise<void>
}

export type OpenWorldDatabase = (now: () => Instant) => Promise<WorldDatabase>
