import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { Refusal } from '../../core/refusals.ts'
import { closeDefiners, grantMissing, grantToServices } from './grants.ts'
import type { Ask } from './link.ts'
import { classify, type Kind } from './postgres-errors.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly breaking: boolean
}

const FOLDER = new URL('./migrations/', import.meta.url)
const FUNCTIONS = new URL('./functions/', import.meta.url)

// Whoever waits for a lock on a table keeps all who come after waiting too, so not for long, but again.
const TABLE_LOCK_WITHIN_MS = 3_000
const TRIES = 10
const PAUSE_BEFORE_AGAIN_MS = 1_000

// The same migration would be refused again.
const REFUSED_FOR_GOOD: readonly Kind[] = ['data', 'denied', 'not-there', 'damaged', 'not-written']

// The migration that brought the hosts of workers, and `lives`.
const WORKERS_SINCE = 2

export function readMigrations(): readonly Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = include(readFileSync(new URL(file, FOLDER), 'utf8'))
      return {
        number: Number(file.slice(0, 4)),
        name: file.slice(5, -4),
        sql,
        breaking: /^-- breaking: yes$/m.test(sql),
      }
    })
}

/** The functions lie in files of their own, named after what they do. */
function include(sql: string): string {
  return sql.replaceAll(/^-- include functions\/([a-z-]+\.sql)$/gm, (_, file: string) =>
    readFileSync(new URL(file, FUNCTIONS), 'utf8'),
  )
}

/** Whom the tables are for, besides who makes them. */
export interface MigrationParts {
  readonly ask: Ask
  /** Null when it is the role of this connection. */
  readonly appRole: string | null
  /** How people know it. */
  readonly place: string
  /** Others than ours, for tests. */
  readonly migrations?: readonly Migration[]
}

/**
 * Brings the schema up to date and lets the role of the service use it, all in one transaction. A migration includes
 * functions as they are now, and these may need what only a later one brings: nobody may meet what lies between two of
 * them, neither processes of the version before, which go on meanwhile, nor those that are left alone with it when a later
 * one fails. When several processes start together, one migrates while the others wait for its lock and then find nothing
 * to do.
 */
export async function applyMigrations(parts: MigrationParts): Promise<{ readonly from: number; readonly to: number }> {
  const { ask, place, appRole, migrations = readMigrations() } = parts
  const before = await lookAt(ask)
  refuseForeign(before, place)
  if (before.version === 0) refuseHelpless(before, place)
  if (before.version < (migrations.at(-1)?.number ?? 0)) await applyPatiently(parts, migrations)
  if (appRole !== null) {
    // Also where nothing was migrated: the service may have got another role.
    await inTransaction(ask, async () => {
      await takeMigrationLock(ask)
      await grantMissing(ask, appRole)
    })
  }
  const after = await lookAt(ask)
  refuseNewer(after, place, migrations)
  return { from: before.version, to: after.version }
}

/** For a short visitor (the CLI): the schema must be there already and not be too new. */
export async function checkMigrations(ask: Ask, place: string, migrations = readMigrations()): Promise<void> {
  const found = await lookAt(ask)
  refuseForeign(found, place)
  if (found.version === 0)
    throw new Refusal(
      'database_unavailable',
      `There is nothing in the database at ${place} yet. Start the service once: npm start`,
    )
  if (found.version < (migrations.at(-1)?.number ?? 0)) {
    throw new Refusal(
      'database_unavailable',
      `The database at ${place} is of an older version. Bring it up to date: npm run -s nuncio -- migrate`,
    )
  }
  refuseNewer(found, place, migrations)
}

/** The number of the newest migration, or null where nothing was made yet. Refuses tables that the start would refuse. */
export async function readVersion(ask: Ask, place: string): Promise<number | null> {
  const found = await lookAt(ask)
  refuseForeign(found, place)
  refuseNewer(found, place, readMigrations())
  return found.version === 0 ? null : found.version
}

async function applyPatiently(parts: MigrationParts, migrations: readonly Migration[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await inTransaction(parts.ask, () => applyMissing(parts, migrations))
    } catch (error) {
      if (classify(error) !== 'contended') throw error
      if (tries === TRIES) {
        throw new Refusal(
          'database_busy',
          `The tables of the database at ${parts.place} are in use, so that it cannot be brought up to date. Nothing was changed. Stop what reads or changes them for long, and try again.`,
          null,
          { cause: error },
        )
      }
    }
    await pause(PAUSE_BEFORE_AGAIN_MS)
  }
}

async function applyMissing(parts: MigrationParts, migrations: readonly Migration[]): Promise<void> {
  const { ask, appRole } = parts
  await takeMigrationLock(ask)
  const { version } = await lookAt(ask)
  const missing = migrations.filter(({ number }) => number > version)
  if (missing.length === 0) return
  if (missing.some(({ breaking }) => breaking)) await refuseWhileOthersServe(parts, version)
  await ask(`select set_config('lock_timeout', '${TABLE_LOCK_WITHIN_MS}', true)`)
  for (const migration of missing) await applyOne(parts, migration)
  await closeDefiners(ask)
  await grantToServices(ask)
  if (appRole !== null) await grantMissing(ask, appRole)
}

/** Code of a version before a breaking migration refuses to start on its tables: nor may it find them under itself. */
async function refuseWhileOthersServe({ ask, place }: MigrationParts, version: number): Promise<void> {
  if (version < WORKERS_SINCE) return
  const [first] = await ask('select host, pid from worker where lives(id) order by id limit 1')
  if (!first) return
  throw new Refusal(
    'database_busy',
    `The database at ${place} must be changed so that the older version cannot go on, and it still serves, such as in process ${String(first['pid'])} on ${String(first['host'])}. Nothing was changed. Stop it everywhere, and try again; a process that was killed counts for some seconds more.`,
  )
}

async function applyOne({ ask, place }: MigrationParts, { sql, number, name, breaking }: Migration): Promise<void> {
  try {
    await ask(
      'create table if not exists migration (number integer primary key, name text not null, breaking boolean not null)',
    )
    await ask(sql)
    await ask('insert into migration (number, name, breaking) values ($1, $2, $3)', [number, name, breaking])
  } catch (error) {
    throw explainFailure(error, { number, name, place })
  }
}

/** Refused by the server as it would be again, so whoever started it must do something. */
function explainFailure(
  error: unknown,
  { number, name, place }: Pick<Migration, 'number' | 'name'> & { place: string },
) {
  const kind = classify(error)
  if (!(error instanceof DatabaseError) || !REFUSED_FOR_GOOD.includes(kind)) return error
  const mend =
    kind === 'denied'
      ? 'Set NUNCIO_DATABASE_MIGRATE_URL to the URL of the owner of its tables, and try again.'
      : 'Remove what was added to them by others, if that is it, and try again.'
  return new Refusal(
    'database_unavailable',
    `The tables of the database at ${place} cannot be brought up to date (migration ${number}, ${name}): ${error.message}. Nothing was changed, and the version before still runs. ${mend}`,
    null,
    { cause: error },
  )
}

/**
 * Nothing of it outlives the transaction, so that it may go through a pooler. Everything is made in the first schema of
 * the path, and functions that run with the rights of their owner see nothing else: `pg_temp` would come first if it
 * were not named, and in it anybody can put a table of the same name.
 */
async function takeMigrationLock(ask: Ask): Promise<void> {
  await ask(
    `select set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true),
       set_config('idle_in_transaction_session_timeout', '0', true), set_config('client_min_messages', 'warning', true),
       set_config('search_path', format('%I, pg_temp', current_schema()), true)`,
  )
  await ask('select pg_advisory_xact_lock(5, 0)')
}

async function inTransaction<Result>(ask: Ask, work: () => Promise<Result>): Promise<Result> {
  // Whatever the role is set to: after the wait for the lock, what others have committed must be seen.
  await ask('begin transaction isolation level read committed read write')
  try {
    const result = await work()
    await ask('commit')
    return result
  } catch (error) {
    await ask('rollback').catch(() => {})
    throw error
  }
}

interface Found {
  /** Null when no schema of the search path exists. */
  readonly schema: string | null
  readonly role: string
  /** Whether this role may make tables, and the statement that lets it. */
  readonly may_make: boolean
  readonly let_make: string
  /** Whether this role may see which migrations were applied. */
  readonly may_read: boolean
  readonly has_strangers: boolean
  readonly applied: readonly Omit<Migration, 'sql'>[]
  readonly version: number
}

async function lookAt(ask: Ask): Promise<Found> {
  const [row] = await ask(
    `select current_schema() as schema, current_user as role, m.oid is not null as is_ours,
         coalesce(has_schema_privilege(n.oid, 'create'), false) as may_make,
         'grant create on schema ' || quote_ident(current_schema()) || ' to ' || quote_ident(current_user) as let_make,
         coalesce(has_schema_privilege(n.oid, 'usage') and has_table_privilege(m.oid, 'select'), false) as may_read,
         exists (select from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
           and not exists (select from pg_depend d
             where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')) as has_any
       from (select current_schema() as name) s
       left join pg_namespace n on n.nspname = s.name
       left join pg_class m on m.relnamespace = n.oid and m.relname = 'migration'
         and exists (select from pg_attribute a where a.attrelid = m.oid and a.attname = 'breaking')`,
  )
  const { is_ours, may_read, has_any, ...rest } = row as Record<string, boolean> &
    Pick<Found, 'schema' | 'role' | 'may_make' | 'let_make'>
  const applied = may_read
    ? ((await ask('select number, name, breaking from migration order by number')) as unknown as Found['applied'])
    : []
  return {
    ...rest,
    may_read: may_read === true || is_ours === false,
    has_strangers: has_any === true && is_ours === false,
    applied,
    version: applied.at(-1)?.number ?? 0,
  }
}

function refuseForeign({ schema, role, may_read, has_strangers }: Found, place: string): void {
  if (schema === null) {
    throw new Refusal(
      'database_unavailable',
      `The database at ${place} has no schema that its user looks into. Make one: create schema nuncio; alter role USER set search_path = nuncio`,
    )
  }
  if (!may_read) {
    throw new Refusal(
      'database_unavailable',
      `The user “${role}” may not use the tables of the database at ${place}. Set NUNCIO_DATABASE_MIGRATE_URL to the URL of their owner, and run: npm run -s nuncio -- migrate`,
    )
  }
  if (!has_strangers) return
  throw new Refusal(
    'database_foreign',
    `The schema “${schema}” of the database at ${place} holds tables of another program. Give Nuncio a database of its own.`,
  )
}

/** Only the owner of a database may make tables in its schema “public”, until others are let. */
function refuseHelpless({ schema, role, may_make, let_make }: Found, place: string): void {
  if (may_make || schema === null) return
  throw new Refusal(
    'database_unavailable',
    `The user “${role}” may make no tables in the schema “${schema}” of the database at ${place}. Allow it: ${let_make}; or set NUNCIO_DATABASE_MIGRATE_URL to the URL of a user who may.`,
  )
}

/** Newer migrations are borne as long as none of them says that older code must not run. */
function refuseNewer({ applied }: Found, place: string, known: readonly Migration[]): void {
  const newest = known.at(-1)?.number ?? 0
  const breaking = applied.find((migration) => migration.number > newest && migration.breaking)
  if (!breaking) return
  throw new Refusal(
    'database_newer',
    `The database at ${place} was changed by a newer version of Nuncio (${breaking.name}). Run that version, or restore a backup made before the upgrade.`,
  )
}
