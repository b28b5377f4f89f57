import { readdirSync, readFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { Refusal } from '../../core/refusals.ts'
import { pragma } from './pragma.ts'

/** "NCIO" in ASCII, in the header of every database of ours, so that a foreign file is known before it is touched. */
export const APPLICATION_ID = 0x4e43494f

interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly breaking: boolean
}

const FOLDER = new URL('./migrations/', import.meta.url)

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
 * Brings the schema up to date, each migration in a transaction of its own. When two processes start together, one
 * migrates while the other waits for its transaction and then finds nothing left to do.
 */
export function applyMigrations(database: DatabaseSync, path: string): void {
  const migrations = readMigrations()
  for (const migration of migrations) applyOne(database, migration)
  refuseNewer(database, path, migrations)
}

function applyOne(database: DatabaseSync, migration: Migration): void {
  if (pragma(database, 'user_version') >= migration.number) return
  database.exec('begin immediate')
  try {
    if (pragma(database, 'user_version') < migration.number) {
      database.exec(
        'create table if not exists migration (number integer primary key, name text not null, breaking integer not null) strict',
      )
      database.exec(migration.sql)
      database
        .prepare('insert into migration (number, name, breaking) values (?, ?, ?)')
        .run(migration.number, migration.name, migration.breaking ? 1 : 0)
      database.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${migration.number}`)
    }
    database.exec('commit')
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** For a short visitor (the CLI): the schema must be there already and not be too new. */
export function checkMigrations(database: DatabaseSync, path: string): void {
  const migrations = readMigrations()
  const version = pragma(database, 'user_version')
  const newest = migrations.at(-1)?.number ?? 0
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
