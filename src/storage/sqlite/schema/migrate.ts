import { DatabaseSync } from 'node:sqlite'
import { assetPath } from '../../../assets/asset-path.ts'
import { validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import { Refusal } from '../../../core/refusals.ts'
import {
  changedSchema,
  fingerprintOf,
  hasOurBaseline,
  type Migration,
  newestOf,
  readMigrationsIn,
  refuseNewer,
  refuseOtherBaseline,
  refuseUnprepared,
} from '../../queries/migrations.ts'
import type { AppliedMigration } from '../../queries/verify/backup-facts.ts'
import { pragma } from '../connection/pragma.ts'
import { isRefusedStatement } from '../connection/sqlite-errors.ts'

/** "NCIO" in ASCII, in the header of each of our databases, so that a foreign file is recognised before it is changed. */
export const APPLICATION_ID = 0x4e43494f

export function readMigrations(): readonly Migration[] {
  return readMigrationsIn(assetPath('src/storage/sqlite'))
}

/**
 * Brings the schema up to date, all in one transaction: when it is cut off or fails, at whichever migration, the database
 * is as it was and the version before still runs. When two processes start together, one migrates while the other waits
 * for its transaction and then finds nothing left to do.
 */
export function applyMigrations(database: DatabaseSync, path: string, migrations = readMigrations()): void {
  if (newestOf(readApplied(database, path, migrations)) < newestOf(migrations)) applyMissing(database, path, migrations)
  refuseNewer(readApplied(database, path, migrations), migrations, path)
}

/** For the CLI: the schema must exist and must not be too new. */
export function checkMigrations(database: DatabaseSync, path: string, migrations = readMigrations()): void {
  const applied = readApplied(database, path, migrations)
  refuseUnprepared(applied, migrations, path)
  refuseNewer(applied, migrations, path)
}

/** The migrations of a database. Refuses one that was made from another baseline, and writes nothing. */
export function readApplied(
  database: DatabaseSync,
  path: string,
  known: readonly Migration[] = readMigrations(),
): readonly AppliedMigration[] {
  if (pragma(database, 'user_version') === 0) return []
  const rows = database.prepare('select number, name, breaking from migration order by number').all()
  const applied = rows.map(({ number, name, breaking }) => ({
    number: number as number,
    name: name as string,
    breaking: breaking === 1,
  }))
  if (!hasOurBaseline(applied, known)) refuseOtherBaseline(path, 'Point NUNCIO_DATA_DIR at an empty folder')
  return applied
}

/** Refuses a backup whose tables, indexes and triggers are not those that its applied migrations make. */
export function refuseChangedSchema(database: DatabaseSync, path: string): void {
  const applied = readApplied(database, path)
  const ours = new DatabaseSync(':memory:')
  try {
    for (const { sql } of readMigrations().filter(({ number }) => number <= newestOf(applied))) ours.exec(sql)
    const [expected, found] = [readObjects(ours), readObjects(database)]
    const other = [...found.keys(), ...expected.keys()].find((name) => found.get(name) !== expected.get(name))
    if (other === undefined) return
    throw new Refusal('backup_unusable', changedSchema(`the ${other}`))
  } finally {
    ours.close()
  }
}

/** Without the objects that SQLite creates: they have no SQL text, or are tables of its statistics. */
function readObjects(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = database
    .prepare(
      `select type, name, sql from sqlite_schema where sql is not null
         and not (type = 'table' and name in ('sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4'))`,
    )
    .all()
  return new Map(rows.map(({ type, name, sql }) => [`${String(type)} “${String(name)}”`, fingerprintOf(String(sql))]))
}

function applyMissing(database: DatabaseSync, path: string, migrations: readonly Migration[]): void {
  database.exec('begin immediate')
  try {
    const version = newestOf(readApplied(database, path, migrations))
    const missing = migrations.filter(({ number }) => number > version)
    if (version > 0 && missing.some(({ breaking }) => breaking)) refuseWhileServed(database, path)
    for (const migration of missing) applyOne(database, path, migration)
    database.exec('commit')
  } catch (error) {
    // A full disk may have rolled it back already.
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** Code from before a breaking migration refuses to start on its tables, so they must not change while it runs either. */
function refuseWhileServed(database: DatabaseSync, path: string): void {
  const first = database
    .prepare(`select host, pid from worker where ${validLeaseSql('unixepoch() * 1000')} order by id limit 1`)
    .get()
  if (!first) return
  throw new Refusal(
    'database_busy',
    `The database at ${path} must be changed so that the older version cannot go on, and it still serves, in process ${String(first['pid'])} on ${String(first['host'])}. Nothing was changed. Stop it, and try again; a process that was killed counts for some seconds more.`,
  )
}

function applyOne(database: DatabaseSync, path: string, { number, name, sql, breaking }: Migration): void {
  try {
    database.exec(sql)
    database
      .prepare('insert into migration (number, name, breaking) values (?, ?, ?)')
      .run(number, name, breaking ? 1 : 0)
    database.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${number}`)
  } catch (error) {
    if (!isRefusedStatement(error)) throw error
    throw new Refusal(
      'database_unavailable',
      `The tables of the database at ${path} cannot be brought up to date (migration ${number}, ${name}): ${error.message}. Nothing was changed, and the version before still runs. Remove what was added to them by others, if that is it, and try again.`,
      null,
      { cause: error },
    )
  }
}
