import { readdirSync, readFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { Refusal } from '../../core/refusals.ts'
import { pragma } from './pragma.ts'
import { isRefusedStatement } from './sqlite-errors.ts'

/** "NCIO" in ASCII, in the header of every database of ours, so that a foreign file is known before it is touched. */
export const APPLICATION_ID = 0x4e43494f

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly breaking: boolean
}

const FOLDER = new URL('./migrations/', import.meta.url)

// The migration that brought the hosts of workers.
const WORKERS_SINCE = 2

export function readMigrations(): readonly Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(new URL(file, FOLDER), 'utf8')
      return {
        number: Number(file.slice(0, 4)),
        name: file.slice(5, -4),
        sql,
        breaking: /^-- breaking: yes$/m.test(sql),
      }
    })
}

/**
 * Brings the schema up to date, all in one transaction: when it is cut off or fails, at whichever migration, the database
 * is as it was and the version before still runs. When two processes start together, one migrates while the other waits
 * for its transaction and then finds nothing left to do.
 */
export function applyMigrations(database: DatabaseSync, path: string, migrations = readMigrations()): void {
  if (pragma(database, 'user_version') < (migrations.at(-1)?.number ?? 0)) applyMissing(database, path, migrations)
  refuseNewer(database, path, migrations)
}

function applyMissing(database: DatabaseSync, path: string, migrations: readonly Migration[]): void {
  database.exec('begin immediate')
  try {
    const version = pragma(database, 'user_version')
    const missing = migrations.filter(({ number }) => number > version)
    if (missing.some(({ breaking }) => breaking)) refuseWhileServed(database, path, version)
    for (const migration of missing) applyOne(database, path, migration)
    database.exec('commit')
  } catch (error) {
    // A full disk may have rolled it back already.
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** Code of a version before a breaking migration refuses to start on its tables: nor may it find them under itself. */
function refuseWhileServed(database: DatabaseSync, path: string, version: number): void {
  if (version < WORKERS_SINCE) return
  const first = database
    .prepare('select host, pid from worker where heartbeat_until > unixepoch() * 1000 order by id limit 1')
    .get()
  if (!first) return
  throw new Refusal(
    'database_busy',
    `The database at ${path} must be changed so that the older version cannot go on, and it still serves, in process ${String(first['pid'])} on ${String(first['host'])}. Nothing was changed. Stop it, and try again; a process that was killed counts for some seconds more.`,
  )
}

function applyOne(database: DatabaseSync, path: string, { number, name, sql, breaking }: Migration): void {
  try {
    database.exec(
      'create table if not exists migration (number integer primary key, name text not null, breaking integer not null) strict',
    )
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

/** For a short visitor (the CLI): the schema must be there already and not be too new. */
export function checkMigrations(database: DatabaseSync, path: string): void {
  const migrations = readMigrations()
  const version = pragma(database, 'user_version')
  const newest = migrations.at(-1)?.number ?? 0
  if (version === 0) {
    throw new Refusal(
      'database_unavailable',
      `There is nothing in the database at ${path} yet. Start the service once: npm start`,
    )
  }
  if (version < newest) {
    throw new Refusal(
      'database_unavailable',
      `The database at ${path} is of an older version. Bring it up to date: npm run -s nuncio -- migrate`,
    )
  }
  refuseNewer(database, path, migrations)
}

/** Newer migrations are borne as long as none of them says that older code must not run. */
function refuseNewer(database: DatabaseSync, path: string, known: readonly Migration[]): void {
  const newest = known.at(-1)?.number ?? 0
  if (pragma(database, 'user_version') <= newest) return
  const breaking = database
    .prepare('select name from migration where number > ? and breaking = 1 order by number limit 1')
    .get(newest)
  if (!breaking) return
  throw new Refusal(
    'database_newer',
    `The database at ${path} was changed by a newer version of Nuncio (${String(breaking['name'])}). Run that version, or restore a backup made before the upgrade.`,
  )
}
