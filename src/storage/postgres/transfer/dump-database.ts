import { spawn } from 'node:child_process'
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { Refusal } from '../../../core/refusals.ts'
import type { AppliedMigration, BackupFacts, BackupProgress } from '../../queries/verify/backup-facts.ts'
import { connect } from '../connection/open-database.ts'
import type { Query, Row } from '../connection/pg-connection.ts'
import { describeServer, translateStatementError } from '../connection/postgres-errors.ts'
import { readApplied } from '../schema/migrate.ts'
import {
  type ChildEnvironment,
  ended,
  errorOutputOf,
  failed,
  programVersion,
  refuseOlder,
  toLibpqUrl,
} from './client-programs.ts'

const REPORT_EVERY_MS = 250
// A statement that waits for a table lock blocks all later ones.
const TABLE_LOCK_WITHIN_MS = 30_000

interface Dump {
  /** The URL of the owner of the tables, who may read all of them. */
  readonly url: string
  /** Must not be there yet. */
  readonly target: string
  readonly childEnvironment: ChildEnvironment
  readonly onProgress: (progress: BackupProgress) => void
}

interface Dumped {
  readonly facts: BackupFacts
  readonly server: { readonly version: string; readonly dumpedBy: string; readonly schema: string }
}

/**
 * Dumps the schema that comes first in the search path of the URL, and counts its rows in the same snapshot. Refuses with
 * `program_missing` if no pg_dump is new enough.
 */
export async function dumpDatabase({ url, target, childEnvironment, onProgress }: Dump): Promise<Dumped> {
  const dumpedBy = await programVersion('pg_dump', childEnvironment)
  const client = await connect(url)
  const query: Query = async (sql, values = []) => (await client.query<Row>(sql, [...values])).rows
  try {
    await query('begin isolation level repeatable read read only')
    // Overrides the limits of the role: the transaction must stay open for the whole dump.
    await query('set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0')
    const [row] = await query(
      `select pg_export_snapshot() as snapshot, current_schema() as schema, current_setting('server_version') as version,
         to_regclass('migration') is not null as is_ours`,
    )
    const { snapshot, schema, version } = row as { snapshot: string; schema: string; version: string }
    if (row?.['is_ours'] !== true) {
      throw new Refusal(
        'database_unavailable',
        `There is nothing of Nuncio in the database at ${describeServer(url)}, so there is nothing to back up.`,
      )
    }
    await readApplied(query, describeServer(url))
    refuseOlder('pg_dump', dumpedBy, version)
    await runDump({ url, target, childEnvironment, onProgress, snapshot, schema })
    const facts = await readFacts(query)
    await query('commit')
    return { facts, server: { version: version.split(' ')[0] ?? version, dumpedBy, schema } }
  } catch (error) {
    throw translateStatementError(error, url)
  } finally {
    await client.end().catch(() => {})
  }
}

async function runDump(dump: Dump & { readonly snapshot: string; readonly schema: string }): Promise<void> {
  const { url, target, childEnvironment, onProgress, snapshot, schema } = dump
  // Creates the file readable by its owner only, and pg_dump overwrites it.
  closeSync(openSync(target, 'wx', 0o600))
  const { url: shown, added } = toLibpqUrl(url)
  const child = spawn(
    'pg_dump',
    [
      '--format=custom',
      // The best compression takes four times as long and saves a tenth.
      '--compress=1',
      '--no-owner',
      '--no-privileges',
      '--no-password',
      `--schema="${schema.replaceAll('"', '""')}"`,
      `--snapshot=${snapshot}`,
      `--lock-wait-timeout=${TABLE_LOCK_WITHIN_MS}`,
      `--file=${target}`,
      `--dbname=${shown}`,
    ],
    { env: childEnvironment(added), stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const words = errorOutputOf(child)
  const timer = setInterval(() => {
    onProgress({ doing: 'copying', done: statSync(target, { throwIfNoEntry: false })?.size ?? 0, of: null })
  }, REPORT_EVERY_MS)
  try {
    if ((await ended(child, 'pg_dump')) !== 0) throw failed('pg_dump', words())
  } finally {
    clearInterval(timer)
  }
  chmodSync(target, 0o600)
}

/** From the snapshot of the transaction. */
async function readFacts(query: Query): Promise<BackupFacts> {
  const [found] = await query(
    `select installation, mark, holds, (select key_id from key_ring) as key_id,
       (select count(*) from account) as accounts, (select count(*) from connection where state <> 'removed') as connections,
       (select count(*) from token where deleted_at is null) as tokens,
       (select count(*) from queued) as waiting, (select count(*) from settled) as settled
     from checkpoint`,
  )
  const { installation, mark, holds, key_id, accounts, connections, tokens, waiting, settled } = found as {
    installation: string
    key_id: string | null
  } & Record<'mark' | 'holds' | 'accounts' | 'connections' | 'tokens' | 'waiting' | 'settled', number>
  return {
    installation,
    mark,
    holds,
    migrations: (await query(
      'select number, name, breaking from migration order by number',
    )) as unknown as AppliedMigration[],
    keyId: key_id,
    counts: { accounts, connections, tokens, messages: waiting + settled, waiting },
  }
}

interface DumpToRead {
  readonly dump: string
  /** The version of pg_dump. */
  readonly dumpedBy: string
  readonly childEnvironment: ChildEnvironment
}

/** Unpacks a dump and discards the result. Refuses with `backup_unusable` when it cannot be read to its end. */
export async function readDump({ dump, dumpedBy, childEnvironment }: DumpToRead): Promise<void> {
  refuseOlder('pg_restore', await programVersion('pg_restore', childEnvironment), dumpedBy)
  const child = spawn('pg_restore', ['--file=/dev/null', dump], {
    env: childEnvironment({}),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const words = errorOutputOf(child)
  if ((await ended(child, 'pg_restore')) === 0) return
  throw new Refusal('backup_unusable', `${dump} cannot be read: ${words()} Take another backup.`)
}
