import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { commandLine } from '../../../core/command-line.ts'
import type { SecretStore } from '../../../core/ports/secrets.ts'
import { Refusal } from '../../../core/refusals.ts'
import { createSecretStore } from '../../queries/secrets/secret-store.ts'
import type { Store } from '../../queries/store.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { sqliteEngine } from '../queries/administration-engine.ts'
import { APPLICATION_ID, applyMigrations, checkMigrations, readApplied } from '../schema/migrate.ts'
import { createSqliteDialect } from './kysely-dialect.ts'
import { pragma } from './pragma.ts'
import { damaged, translateOpenError } from './sqlite-errors.ts'

const CHECKED_AT_START_BYTES = 64 * 1024 * 1024

export interface OpenOptions {
  /** Makes the file and brings the schema up to date. Without it a missing or older database is refused. */
  readonly create: boolean
  /** How long a statement waits for another process's transaction, in milliseconds. */
  readonly busyTimeoutMs?: number
}

/** Brings the database up to date, creates it if there is none, and returns the versions before and after. */
export function migrateDatabase(path: string): { readonly from: number; readonly to: number } {
  const from = versionOf(path)
  const database = openDatabase(path, { create: true })
  try {
    return { from, to: pragma(database, 'user_version') }
  } finally {
    database.close()
  }
}

/** The number of its newest migration; 0 without tables. */
export function versionOf(path: string): number {
  try {
    return isThere(path) ? withDatabase(path, READ_ONLY, (database) => pragma(database, 'user_version')) : 0
  } catch (error) {
    throw translateOpenError(error, path)
  }
}

export const READ_ONLY = { readOnly: true }

/** Opens a file as it is, without what a service needs, and closes it again. */
export function withDatabase<Result>(
  path: string,
  options: { readonly readOnly?: boolean },
  work: (database: DatabaseSync) => Result,
): Result {
  try {
    const database = new DatabaseSync(path, { ...options, timeout: 5_000 })
    try {
      return work(database)
    } finally {
      database.close()
    }
  } catch (error) {
    throw translateOpenError(error, path)
  }
}

/** Opens the database, durable and checked. Refuses with a sentence that says what is wrong and what to do. */
export function openDatabase(path: string, options: OpenOptions): DatabaseSync {
  const inMemory = path === ':memory:'
  try {
    if (!inMemory && !options.create && !isThere(path)) {
      throw new Refusal(
        'database_unavailable',
        `There is no database at ${path} yet. Start the service once: ${commandLine`serve`}`,
      )
    }
    if (!inMemory) mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const database = new DatabaseSync(path, { timeout: options.busyTimeoutMs ?? 5_000 })
    try {
      refuseForeign(database, path)
      // Refuses another baseline before anything is written.
      readApplied(database, path)
      makeDurable(database, path, inMemory)
      if (options.create && !inMemory) {
        // SQLite opens a file that it may only read, and would fail at the first message.
        accessSync(path, constants.R_OK | constants.W_OK)
        refuseDamaged(database, path)
      }
      if (options.create) applyMigrations(database, path)
      else checkMigrations(database, path)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw translateOpenError(error, path)
  }
}

/** Throws when the folder may not be read: a file may be there all the same. */
export function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

export function refuseForeign(database: DatabaseSync, path: string): void {
  const id = pragma(database, 'application_id')
  if (id === APPLICATION_ID) return
  const { tables } = database.prepare('select count(*) as tables from sqlite_schema').get() as { tables: number }
  if (id === 0 && tables === 0) return
  throw new Refusal('database_foreign', `${path} is not a database of Nuncio. Point NUNCIO_DATA_DIR at another folder.`)
}

/**
 * Reads every page once, if that is quick. In a larger database damage is found only when a statement meets it: then the process
 * ends and says so.
 */
function refuseDamaged(database: DatabaseSync, path: string): void {
  if (statSync(path).size > CHECKED_AT_START_BYTES) return
  const [finding] = Object.values(database.prepare('pragma quick_check(1)').get() ?? {})
  if (finding !== 'ok') throw damaged(path)
}

/**
 * These settings make a 200 durable (G1). With synchronous NORMAL every one of forty power cuts lost rows that had been
 * committed; with FULL none did. They are read back, because SQLite ignores what a file system cannot do.
 */
function makeDurable(database: DatabaseSync, path: string, inMemory: boolean): void {
  const mode = (database.prepare('pragma journal_mode = wal').get() as { journal_mode: string }).journal_mode
  database.exec(
    'pragma synchronous = full; pragma foreign_keys = on; pragma temp_store = memory; pragma cache_size = -65536',
  )
  if (inMemory) return
  if (mode !== 'wal' || pragma(database, 'synchronous') !== 2) {
    throw new Refusal(
      'database_unavailable',
      `${path} lies on a file system that cannot keep a write-ahead log (often a network share). Move NUNCIO_DATA_DIR to a local disk.`,
    )
  }
}

interface OpenForReading {
  readonly store: Store
  readonly secretStore: SecretStore
  close(): void
}

/** Opens a database that must not change by a byte, such as that of a backup. */
export function openForReading(path: string): OpenForReading {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
    const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(database) })
    const store = { database: kysely, engine: sqliteEngine, now: () => 0 }
    return { store, secretStore: createSecretStore(store), close: () => database.close() }
  } catch (error) {
    throw translateOpenError(error, path)
  }
}
