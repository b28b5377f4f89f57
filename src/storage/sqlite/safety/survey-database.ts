import { existsSync, statSync } from 'node:fs'
import { newestOf } from '../../queries/migrations.ts'
import { isThere, openDatabase, READ_ONLY, refuseForeign, withDatabase } from '../connection/open-database.ts'
import { pragma } from '../connection/pragma.ts'
import { translateOpenError } from '../connection/sqlite-errors.ts'
import { readApplied, readMigrations } from '../schema/migrate.ts'

// Reading every page of one of this size takes some seconds.
const CHECKED_BYTES = 512 * 1024 * 1024

/** Facts about a database, found without changing it. */
export interface DatabaseSurvey {
  readonly sizeBytes: number
  readonly walBytes: number
  /** The newest migration in it, and the newest that we know. */
  readonly version: number
  readonly known: number
  /** As a connection of the service has it, read back; null where an older database is not opened so. */
  readonly journalMode: string | null
  readonly synchronous: number | null
  /** `ok`, or the first damage found; null when it is too large to be read whole. */
  readonly damage: string | null
}

/** Null when there is none. Refuses as opening it does. */
export function surveyDatabase(path: string): DatabaseSurvey | null {
  try {
    if (!isThere(path)) return null
  } catch (error) {
    throw translateOpenError(error, path)
  }
  const known = newestOf(readMigrations())
  const sizeBytes = statSync(path).size
  const walBytes = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0
  const version = versionOf(path)
  const durable = version < known ? { journalMode: null, synchronous: null } : readBack(path)
  return { sizeBytes, walBytes, version, known, ...durable, damage: sizeBytes > CHECKED_BYTES ? null : damageOf(path) }
}

function versionOf(path: string): number {
  return withDatabase(path, READ_ONLY, (database) => {
    refuseForeign(database, path)
    return newestOf(readApplied(database, path))
  })
}

function damageOf(path: string): string {
  return withDatabase(path, READ_ONLY, (database) =>
    String(Object.values(database.prepare('pragma quick_check(1)').get() ?? {})[0]),
  )
}

/** Opened as the service opens it, with all that it refuses. */
function readBack(path: string): Pick<DatabaseSurvey, 'journalMode' | 'synchronous'> {
  const database = openDatabase(path, { create: false })
  try {
    const { journal_mode } = database.prepare('pragma journal_mode').get() as { journal_mode: string }
    return { journalMode: journal_mode, synchronous: pragma(database, 'synchronous') }
  } finally {
    database.close()
  }
}
