import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { assetPath } from '../../../assets/asset-path.ts'
import { commandLine } from '../../../core/command-line.ts'
import { Refusal } from '../../../core/refusals.ts'
import {
  hasOurBaseline,
  type Migration,
  newestOf,
  readMigrationsIn,
  refuseNewer,
  refuseOlder,
  refuseOtherBaseline,
  refuseUnprepared,
} from '../../queries/migrations.ts'
import type { AppliedMigration } from '../../queries/verify/backup-facts.ts'
import type { Query } from '../connection/pg-connection.ts'
import { classify, type Kind } from '../connection/postgres-errors.ts'
import { closeDefiners, grantMissing, grantToServices } from './grants.ts'
import { mustBeApplied, readFunctions, recordFunctions, type StoredFunctions } from './stored-functions.ts'

// A statement that waits for a table lock blocks all later ones. So it waits briefly and retries.
const TABLE_LOCK_WITHIN_MS = 3_000
const TRIES = 10
const PAUSE_BEFORE_AGAIN_MS = 1_000

// A retry would fail the same way.
const REFUSED_FOR_GOOD: readonly Kind[] = ['data', 'denied', 'not-there', 'damaged', 'not-written']

/** The baseline with the functions in it, and the migrations after it. */
export function readMigrations(functions = readFunctions()): readonly Migration[] {
  return readMigrationsIn(assetPath('src/storage/postgres')).map((migration) => ({
    ...migration,
    sql: migration.sql.replace(/^-- functions$/m, () => functions.sql),
  }))
}

interface MigrationParts {
  readonly query: Query
  /** The role of the service. Null when it is the role of this connection. */
  readonly appRole: string | null
  /** The name of the database in messages. */
  readonly place: string
  /** Replaces the built-in ones in tests. */
  readonly migrations?: readonly Migration[]
  readonly functions?: StoredFunctions
}

interface Wanted {
  readonly migrations: readonly Migration[]
  readonly functions: StoredFunctions
}

/**
 * Brings the schema and the functions up to date and grants the service's role their use, all in one transaction. So
 * other processes, such as those of the previous version, never see a state between two migrations, even if one fails.
 * When several processes start together, one migrates. The others wait for its lock, then find nothing to do.
 */
export async function applyMigrations(parts: MigrationParts): Promise<{ readonly from: number; readonly to: number }> {
  const { query, place, appRole, functions = readFunctions(), migrations = readMigrations(functions) } = parts
  const wanted = { migrations, functions }
  const before = await findUsable(query, place, migrations)
  if (before.version === 0) refuseHelpless(before, place)
  if (!(await isUpToDate(query, before, wanted))) await applyWithRetries(parts, wanted)
  if (appRole !== null) {
    // Even if nothing was migrated, because the service may have a new role.
    await inTransaction(query, async () => {
      await takeMigrationLock(query)
      await grantMissing(query, appRole)
    })
  }
  const after = await readState(query)
  refuseNewer(after.applied, migrations, place)
  return { from: before.version, to: after.version }
}

/** For the CLI: the schema must exist and must not be too new. */
export async function checkMigrations(query: Query, place: string, migrations = readMigrations()): Promise<void> {
  const found = await findUsable(query, place, migrations)
  refuseUnprepared(found.applied, migrations, place)
  if (!(await isUpToDate(query, found, { migrations, functions: readFunctions() }))) refuseOlder(place)
  refuseNewer(found.applied, migrations, place)
}

/** The number of the newest applied migration, or null if there are no tables. Refuses tables that the start would refuse. */
export async function readVersion(query: Query, place: string): Promise<number | null> {
  const migrations = readMigrations()
  const { applied, version } = await findUsable(query, place, migrations)
  refuseNewer(applied, migrations, place)
  return version === 0 ? null : version
}

/** The applied migrations. Refuses tables of another program or of another baseline. */
export async function readApplied(query: Query, place: string): Promise<readonly AppliedMigration[]> {
  return (await findUsable(query, place, readMigrations())).applied
}

async function findUsable(query: Query, place: string, known: readonly Migration[]): Promise<Found> {
  const found = await readState(query)
  refuseForeign(found, place)
  if (!hasOurBaseline(found.applied, known)) refuseOtherBaseline(place, 'Name an empty database in NUNCIO_DATABASE_URL')
  return found
}

async function isUpToDate(query: Query, { version }: Found, { migrations, functions }: Wanted): Promise<boolean> {
  const newest = newestOf(migrations)
  if (version < newest) return false
  // The functions of a newer version need its migrations, and ours may not fit them.
  return version > newest || !(await mustBeApplied(query, functions))
}

async function applyWithRetries(parts: MigrationParts, wanted: Wanted): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await inTransaction(parts.query, () => applyMissing(parts, wanted))
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

async function applyMissing(parts: MigrationParts, wanted: Wanted): Promise<void> {
  const { query, appRole, place } = parts
  const { migrations, functions } = wanted
  await takeMigrationLock(query)
  const found = await findUsable(query, place, migrations)
  if (await isUpToDate(query, found, wanted)) return
  const missing = migrations.filter(({ number }) => number > found.version)
  if (found.version > 0 && missing.some(({ breaking }) => breaking)) await refuseWhileOthersServe(parts)
  // Functions are applied in the order of their files, so some bodies name later functions.
  await query(
    `select set_config('lock_timeout', '${TABLE_LOCK_WITHIN_MS}', true), set_config('check_function_bodies', 'off', true)`,
  )
  // Before the migrations, which may need them. The baseline contains them.
  if (found.version > 0) await explained('functions', place, () => query(functions.sql))
  for (const migration of missing) await applyOne(parts, migration)
  await recordFunctions(query, functions)
  await closeDefiners(query)
  await grantToServices(query)
  if (appRole !== null) await grantMissing(query, appRole)
}

/** Older code refuses to start after a breaking migration, so none may run during one either. */
async function refuseWhileOthersServe({ query, place }: MigrationParts): Promise<void> {
  const [first] = await query('select host, pid from worker where worker_has_lease(id) order by id limit 1')
  if (!first) return
  throw new Refusal(
    'database_busy',
    `The database at ${place} must be changed so that the older version cannot go on, and it still serves, such as in process ${String(first['pid'])} on ${String(first['host'])}. Nothing was changed. Stop it everywhere, and try again; a process that was killed counts for some seconds more.`,
  )
}

async function applyOne({ query, place }: MigrationParts, { sql, number, name, breaking }: Migration): Promise<void> {
  await explained(`migration ${number}, ${name}`, place, async () => {
    await query(sql)
    await query('insert into migration (number, name, breaking) values ($1, $2, $3)', [number, name, breaking])
  })
}

async function explained(what: string, place: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw explainFailure(error, what, place)
  }
}

/** The server would refuse it again, so a person must act: the refusal says how. */
function explainFailure(error: unknown, what: string, place: string): unknown {
  const kind = classify(error)
  if (!(error instanceof DatabaseError) || !REFUSED_FOR_GOOD.includes(kind)) return error
  const remedy =
    kind === 'denied'
      ? 'Set NUNCIO_DATABASE_MIGRATE_URL to the URL of the owner of its tables, and try again.'
      : 'If another program added something to them, remove it and try again.'
  return new Refusal(
    'database_unavailable',
    `The tables of the database at ${place} cannot be brought up to date (${what}): ${error.message}. Nothing was changed, and the version before still runs. ${remedy}`,
    null,
    { cause: error },
  )
}

/**
 * All settings end with the transaction, so this works through a pooler. Everything is created in the first schema of the
 * path, and functions that run with the rights of their owner see only that schema. `pg_temp` is named because it would
 * come first otherwise, and any role can create a table of the same name in it.
 */
async function takeMigrationLock(query: Query): Promise<void> {
  await query(
    `select set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true),
       set_config('idle_in_transaction_session_timeout', '0', true), set_config('client_min_messages', 'warning', true),
       set_config('search_path', format('%I, pg_temp', current_schema()), true)`,
  )
  await query('select pg_advisory_xact_lock(5, 0)')
}

async function inTransaction<Result>(query: Query, work: () => Promise<Result>): Promise<Result> {
  // Overrides the defaults of the role: after the wait for the lock, commits of other processes must be visible.
  await query('begin transaction isolation level read committed read write')
  try {
    const result = await work()
    await query('commit')
    return result
  } catch (error) {
    await query('rollback').catch(() => {})
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
  readonly applied: readonly AppliedMigration[]
  readonly version: number
}

async function readState(query: Query): Promise<Found> {
  const [row] = await query(
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
    ? ((await query('select number, name, breaking from migration order by number')) as unknown as Found['applied'])
    : []
  return {
    ...rest,
    may_read: may_read === true || is_ours === false,
    has_strangers: has_any === true && is_ours === false,
    applied,
    version: newestOf(applied),
  }
}

function refuseForeign({ schema, role, may_read, has_strangers }: Found, place: string): void {
  if (schema === null) {
    throw new Refusal(
      'database_unavailable',
      `The database at ${place} has no schema in the search path of its user. Make one: create schema nuncio; alter role USER set search_path = nuncio`,
    )
  }
  if (!may_read) {
    throw new Refusal(
      'database_unavailable',
      `The user “${role}” may not use the tables of the database at ${place}. Set NUNCIO_DATABASE_MIGRATE_URL to the URL of their owner, and run: ${commandLine`migrate`}`,
    )
  }
  if (!has_strangers) return
  throw new Refusal(
    'database_foreign',
    `The schema “${schema}” of the database at ${place} holds tables of another program. Give Nuncio a database of its own.`,
  )
}

/** By default only the owner of a database may make tables in its schema “public”. */
function refuseHelpless({ schema, role, may_make, let_make }: Found, place: string): void {
  if (may_make || schema === null) return
  throw new Refusal(
    'database_unavailable',
    `The user “${role}” may make no tables in the schema “${schema}” of the database at ${place}. Allow it: ${let_make}; or set NUNCIO_DATABASE_MIGRATE_URL to the URL of a user who may.`,
  )
}
