import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import { Refusal } from '../../../core/refusals.ts'
import { type KnownPast, knowsAllSince, placedHolds, type Replaced } from '../../queries/checkpoint.ts'
import { CHANGED_SCHEMA } from '../../queries/migrations.ts'
import type { BackupProgress, HappenedSince, RestoredHold } from '../../queries/verify/backup-facts.ts'
import { withConnection } from '../connection/open-database.ts'
import type { Query } from '../connection/pg-connection.ts'
import { describeServer } from '../connection/postgres-errors.ts'
import { CLOSING_DEFINERS } from '../schema/grants.ts'
import { refuseChangedSchema } from '../schema/refuse-changed-schema.ts'
import {
  type ChildEnvironment,
  ended,
  errorOutputOf,
  failed,
  programVersion,
  refuseOlder,
  toLibpqUrl,
} from './client-programs.ts'

const TABLE_LOCK_WITHIN_MS = 5_000

interface DumpToRestore {
  /** The URL of the role that becomes the owner of the tables. */
  readonly url: string
  readonly dump: string
  readonly bytes: number
  /** The version of pg_dump. */
  readonly dumpedBy: string
  /** The schema that was dumped. It is restored under the same name. */
  readonly schema: string
  /** How many of our migrations made its tables. */
  readonly appliedMigrations: number
  readonly replace: boolean
  /** The new name of the schema that the restored one replaces. */
  readonly aside: string
  readonly hold: RestoredHold
  readonly past: KnownPast
  /** The id of the spool to which fetched files were restored. */
  readonly spool: string | null
  readonly childEnvironment: ChildEnvironment
  readonly onProgress: (progress: BackupProgress) => void
}

/**
 * Restores a dump, holds all lanes and renames the previous schema, all in one transaction: if it fails at any point, the
 * database is unchanged. psql runs the transaction, because pg_restore would commit before the lanes are held.
 */
export async function restoreDump(
  request: DumpToRestore,
): Promise<{ readonly aside: string | null; readonly since: HappenedSince | null }> {
  const { url, schema, replace, dumpedBy, childEnvironment } = request
  refuseOlder('pg_restore', await programVersion('pg_restore', childEnvironment), dumpedBy)
  await programVersion('psql', childEnvironment)
  const there = await withConnection(url, (query) => readTarget(query, url))
  if (there.schema !== schema) throw otherSchema(there.schema, schema)
  if (there.isServed) throw inUse(url)
  if (there.hasTables && !replace) {
    throw new Refusal(
      'database_not_empty',
      `The schema “${schema}” of the database at ${describeServer(url)} holds tables already. Name an empty database, or add --replace to move the schema aside, where it is kept.`,
    )
  }
  const aside = there.hasTables ? request.aside : null
  try {
    await readIn(request, aside, there.serverMajor)
  } catch (error) {
    const isServed = await withConnection(url, (query) => readTarget(query, url)).then(
      (found) => found.isServed,
      () => false,
    )
    throw isServed ? inUse(url) : error
  }
  // The restore is committed. Later errors must not be reported as “Nothing was changed”.
  const since = await withConnection(url, (query) => findBackwards(query, request, aside)).catch(() => null)
  return { aside: aside && `the schema ${aside}`, since }
}

interface Target {
  readonly schema: string
  readonly hasTables: boolean
  readonly isServed: boolean
  readonly serverMajor: number
}

async function readTarget(query: Query, url: string): Promise<Target> {
  // The first schema of the search path may not exist yet: the dump creates it.
  const [row] = await query(
    `select current_setting('server_version_num')::integer / 10000 as server_major, coalesce(current_schema(), btrim(split_part(replace(current_setting('search_path'), '"$user"', quote_ident(current_user)), ',', 1), ' "')) as schema,
       to_regclass('account') is not null and to_regclass('worker') is not null and to_regclass('migration') is not null as is_ours,
       exists (select from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
         and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')) as has_tables`,
  )
  const { schema, is_ours, has_tables, server_major } = row as {
    schema: string
    is_ours: boolean
    has_tables: boolean
    server_major: number
  }
  if (has_tables && !is_ours) {
    throw new Refusal(
      'database_foreign',
      `The schema “${schema}” of the database at ${describeServer(url)} holds tables of another program, which are left alone. Name a database of its own.`,
    )
  }
  const [served] = is_ours
    ? await query(`select exists (select from worker where ${validLeaseSql('now_ms()')}) as yes`)
    : []
  return { schema, hasTables: has_tables, isServed: served?.['yes'] === true, serverMajor: server_major }
}

function inUse(url: string): Refusal {
  return new Refusal(
    'database_in_use',
    `A Nuncio serves the database at ${describeServer(url)}. Stop it first, on every machine.`,
  )
}

function otherSchema(ours: string, dumped: string): Refusal {
  return new Refusal(
    'backup_unusable',
    `The backup is of the schema “${dumped}”, and the search path of this user begins with “${ours}”. Make them the same: alter role USER in database NAME set search_path = ${dumped}`,
  )
}

async function readIn(request: DumpToRestore, aside: string | null, serverMajor: number): Promise<void> {
  const { url, dump, schema, bytes, childEnvironment, onProgress } = request
  const { url: shown, added } = toLibpqUrl(url)
  const env = childEnvironment(added)
  const psql = spawn(
    'psql',
    ['--no-psqlrc', '--quiet', '--no-password', '--set=ON_ERROR_STOP=1', `--dbname=${shown}`],
    {
      env,
      stdio: ['pipe', 'ignore', 'pipe'],
    },
  )
  const reader = spawn('pg_restore', ['--no-owner', '--no-privileges', `--schema=${schema}`, '--file=-', dump], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const words = { psql: errorOutputOf(psql), reader: errorOutputOf(reader) }
  const isDone = { psql: ended(psql, 'psql'), reader: ended(reader, 'pg_restore') }
  psql.stdin.on('error', () => {})
  try {
    psql.stdin.write(opening(schema, aside))
    let done = 0
    for await (const piece of dropNewerSettings(reader.stdout, serverMajor)) {
      done += piece.length
      onProgress({ doing: 'restoring', done, of: null })
      // psql has ended. Its error output says why.
      if (psql.exitCode !== null || psql.stdin.destroyed) break
      if (psql.stdin.write(piece)) continue
      // If the pipe breaks first, the exit of psql explains it better.
      const hasRoom = once(psql.stdin, 'drain').catch(() => {})
      await Promise.race([hasRoom, isDone.psql])
    }
    if (psql.exitCode === null && !psql.stdin.destroyed && (await isDone.reader) !== 0)
      throw new Refusal('backup_unusable', `${dump} cannot be read: ${words.reader()} Nothing was restored.`)
    psql.stdin.end(closing(request))
    if ((await isDone.psql) !== 0) throw explain(words.psql())
    onProgress({ doing: 'restoring', done: bytes, of: bytes })
  } finally {
    await stop([psql, reader], Object.values(isDone))
  }
}

function explain(words: string): Refusal {
  const changed = words.indexOf(CHANGED_SCHEMA)
  return changed < 0
    ? failed('psql', `${words} Nothing was restored.`)
    : new Refusal('backup_unusable', words.slice(changed))
}

/** Without a commit the server rolls everything back. */
async function stop(children: readonly ChildProcess[], done: readonly Promise<unknown>[]): Promise<void> {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL')
  await Promise.allSettled(done)
}

function opening(schema: string, aside: string | null): string {
  return `\\set VERBOSITY terse
begin;
set local statement_timeout = 0;
set local lock_timeout = ${TABLE_LOCK_WITHIN_MS};
do ${literal(lockOutServices(aside === null ? null : schema))};
${aside === null ? '' : `alter schema ${quoted(schema)} rename to ${quoted(aside)};\n`}create schema if not exists ${quoted(schema)};
`
}

/**
 * Services that start from here on wait or fail. Renaming alone would not stop them: until the commit they would use the old
 * name, and messages that they accepted would be moved aside (G1). Services that migrate wait for the migration lock, and the
 * others for the lock on the heartbeats. Services that started after the first check are found here.
 */
function lockOutServices(schema: string | null): string {
  const inSchema = (name: string) => `${quoted(schema ?? '')}.${name}`
  const tables = `
    lock table ${inSchema('worker')} in access exclusive mode;
    if to_regclass(${literal(inSchema('queued'))}) is not null then
      lock table ${inSchema('queued')} in access exclusive mode;
    end if;
    if exists (select from ${inSchema('worker')} where ${validLeaseSql(inSchema('now_ms()'))}) then
      raise 'A Nuncio serves the database.';
    end if;`
  return `begin
    perform pg_advisory_xact_lock(5, 0);${schema === null ? '' : tables}
  exception when lock_not_available then
    raise 'Another program uses the tables of the database, such as a backup. Wait until it ends, and try again.';
  end`
}

/** Sets the search path again, because the dump has emptied it. */
function closing({ schema, hold, spool, appliedMigrations }: DumpToRestore): string {
  const reason = literal(hold.reason)
  const detail = literal(JSON.stringify({ reason: hold.reason }))
  const moved = hold.media && {
    from: literal(`${hold.media.from}/`),
    to: literal(`${hold.media.to}/`),
    spool: spool === null ? 'spool' : literal(spool),
  }
  return `
set search_path = ${quoted(schema)}, pg_temp;
${refuseChangedSchema(schema, appliedMigrations)}
set search_path = ${quoted(schema)}, pg_temp;
select hold_lanes(${reason}, (select holds from checkpoint), ${hold.holdsRemembered});
update hold set reason = ${reason}, since = ${hold.at};
delete from session;
delete from sign_in_ticket;
update worker set heartbeat_until = least(heartbeat_until, now_ms());
${hold.withoutSecrets ? 'delete from key_ring;' : ''}
${moved ? `update media set path = ${moved.to} || substr(path, length(${moved.from}) + 1), spool = ${moved.spool} where left(path, length(${moved.from})) = ${moved.from};` : ''}
insert into audit (at, actor, action, object, detail) values (${hold.at}, 'restore', 'hold.place', 'all numbers', ${detail});
${CLOSING_DEFINERS} \\gexec
commit;
`
}

async function findBackwards(
  query: Query,
  request: DumpToRestore,
  aside: string | null,
): Promise<HappenedSince | null> {
  // Overrides the time limits of the role.
  await query(
    `select set_config(name, '0', false) from pg_settings where name in ('statement_timeout', 'transaction_timeout')`,
  )
  // If this fails, autovacuum analyzes the tables a little later.
  await learnSizes(query, request.schema).catch(() => {})
  return aside === null ? null : compare(query, request, aside)
}

/** Analyzes the tables, so that the server plans well from the first query on. */
async function learnSizes(query: Query, schema: string): Promise<void> {
  const tables = await query(
    `select relname as name from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'p') and not relispartition`,
    [quoted(schema)],
  )
  if (tables.length === 0) return
  await query(`analyze ${tables.map(({ name }) => `${quoted(schema)}.${quoted(name as string)}`).join()}`)
}

/** Null when they are different installations, or the old one lacks commits. */
async function compare(query: Query, { schema, past }: DumpToRestore, aside: string): Promise<HappenedSince | null> {
  const [now, old] = [quoted(schema), quoted(aside)]
  const [row] = await query(
    `select installation, o.mark, o.holds, ${placedHolds(old, now)} as placed,
       (select count(*) from ${old}.message where sequence > (select coalesce(max(sequence), 0) from
         (select max(sequence) as sequence from ${now}.queued union all select max(sequence) from ${now}.settled) newest)) as accepted
       from ${now}.checkpoint join ${old}.checkpoint o using (installation)`,
  )
  if (!row || !knowsAllSince(past, row as unknown as Replaced)) return null
  const ended = await query(
    `select q.id from ${now}.queued q where exists (select from ${old}.settled s where s.account_id = q.account_id and s.sequence = q.sequence)
       or exists (select from ${old}.queued o where o.account_id = q.account_id and o.sequence = q.sequence and o.attempts > q.attempts)
       or exists (select from ${old}.open_attempt a where a.connection_id = q.connection_id and a.message_sequence = q.sequence)
     order by q.sequence`,
  )
  return { accepted: row['accepted'] as number, ended: ended.map(({ id }) => id as string) }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function literal(text: string): string {
  // E'' has one meaning of backslashes on every server.
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** Settings that pg_restore sets, with the first server version that knows each. */
const KNOWN_SINCE: Readonly<Record<string, number>> = { transaction_timeout: 17 }
const LINE_OF_HEAD = /^(?:--.*|SET .*|SELECT pg_catalog\.set_config\(.*|\\(?:un)?restrict .*)?\r?$/
// Lines of the head are shorter than this.
const LONGEST_LINE = 65_536
const LINE_END = 10

/**
 * Passes on the output of pg_restore without the settings at its head that this server does not know. An older server does
 * not need them, and psql would stop at them. The rest stays unchanged, because table data may contain any line.
 */
export async function* dropNewerSettings(pieces: AsyncIterable<Buffer>, serverMajor: number): AsyncGenerator<Buffer> {
  let isHead = true
  let begun: Buffer = Buffer.alloc(0)
  for await (const piece of pieces) {
    if (!isHead) {
      yield piece
      continue
    }
    begun = Buffer.concat([begun, piece])
    for (let end = begun.indexOf(LINE_END); isHead && end >= 0; end = begun.indexOf(LINE_END)) {
      const line = begun.toString('utf8', 0, end)
      isHead = LINE_OF_HEAD.test(line)
      if (!isHead) break
      if (isKnown(line, serverMajor)) yield begun.subarray(0, end + 1)
      begun = begun.subarray(end + 1)
    }
    if (isHead && begun.length <= LONGEST_LINE) continue
    isHead = false
    yield begun
    begun = Buffer.alloc(0)
  }
  yield begun
}

function isKnown(line: string, serverMajor: number): boolean {
  const name = /^SET (\w+) /.exec(line)?.[1] ?? ''
  return (KNOWN_SINCE[name] ?? 0) <= serverMajor
}
