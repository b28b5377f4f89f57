import type { Client } from 'pg'
import { newestOf } from '../../queries/migrations.ts'
import { checkServer, connect } from '../connection/open-database.ts'
import { describeServer, translateStatementError } from '../connection/postgres-errors.ts'
import { readMigrations, readVersion } from '../schema/migrate.ts'

/** State of the server and of our tables, read without changing anything. */
export interface ServerSurvey {
  readonly server: string
  readonly version: string
  /** This and the next ones are the server's settings, as they hold for our role. */
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly synchronousStandbys: string
  /** Connections that can still be opened, and the limit. */
  readonly connectionsLeft: number
  readonly connections: number
  readonly transactions: NumberSupply
  /** Numbers of another kind, for rows that several transactions lock at once. */
  readonly multixacts: NumberSupply
  readonly isSuperuser: boolean
  /** A pooler or another proxy stands between us and the server. */
  readonly isThroughPooler: boolean
  /** Server clock minus ours in milliseconds, and the greatest error of that. */
  readonly clockAheadMs: number
  readonly clockUncertainMs: number
  /** The newest migration in the database, null when it has no tables of ours; and the newest that this version knows. */
  readonly migrated: number | null
  readonly known: number
}

export interface NumberSupply {
  /** How many the server can still assign if nothing is vacuumed. At 0 it refuses writes. */
  readonly left: number
  /** How many it has assigned beyond the number at which it must vacuum; negative below that number. */
  readonly overdue: number
}

// Half of all numbers of transactions, or of multixacts, can be in use at a time, and of these a server keeps three
// million back.
const MOST_NUMBERS = 2 ** 31 - 3_000_000

const READ_STATE = `select current_setting('server_version') as version, current_setting('fsync') as fsync,
    current_setting('full_page_writes') as full_page_writes, current_setting('synchronous_commit') as synchronous_commit,
    current_setting('synchronous_standby_names') as synchronous_standbys, current_setting('is_superuser') = 'on' as is_superuser,
    pg_backend_pid() as pid,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections,
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
    (select max(age(datfrozenxid)) from pg_database) as transactions,
    current_setting('autovacuum_freeze_max_age')::bigint as most_transactions,
    (select max(mxid_age(datminmxid)) from pg_database) as multixacts,
    current_setting('autovacuum_multixact_freeze_max_age')::bigint as most_multixacts`

/** Refuses the servers and tables that the service would refuse. */
export async function surveyServer(url: string, now: () => number): Promise<ServerSurvey> {
  const client = await connect(url)
  const query = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows
  try {
    await checkServer(query, url)
    const [row] = await query(READ_STATE)
    const found = row as Record<string, string & number & boolean>
    return {
      server: describeServer(url),
      version: String(found['version']),
      fsync: String(found['fsync']),
      fullPageWrites: String(found['full_page_writes']),
      synchronousCommit: String(found['synchronous_commit']),
      synchronousStandbys: String(found['synchronous_standbys']),
      connections: Number(found['connections']),
      connectionsLeft: Number(found['connections']) - Number(found['used']),
      transactions: supplyOf(Number(found['transactions']), Number(found['most_transactions'])),
      multixacts: supplyOf(Number(found['multixacts']), Number(found['most_multixacts'])),
      isSuperuser: found['is_superuser'] === true,
      isThroughPooler: processOf(client) !== Number(found['pid']),
      ...(await compareClocks(query, now)),
      migrated: await readVersion(query, describeServer(url)),
      known: newestOf(readMigrations()),
    }
  } catch (error) {
    throw translateStatementError(error, url)
  } finally {
    await client.end().catch(() => {})
  }
}

function supplyOf(inUse: number, vacuumsAfter: number): NumberSupply {
  return { left: MOST_NUMBERS - inUse, overdue: inUse - vacuumsAfter }
}

/** The process number that the server sent at connect. A pooler invents one. */
function processOf(client: Client): number | null {
  return (client as Client & { readonly processID: number | null }).processID
}

const CLOCK_QUERIES = 5

/** Takes the fastest of several queries: the error is at most half of its round trip. */
async function compareClocks(
  query: (sql: string) => Promise<Record<string, unknown>[]>,
  now: () => number,
): Promise<Pick<ServerSurvey, 'clockAheadMs' | 'clockUncertainMs'>> {
  let best = { clockAheadMs: 0, clockUncertainMs: Number.POSITIVE_INFINITY }
  for (let round = 0; round < CLOCK_QUERIES; round++) {
    const [begun, before] = [now(), performance.now()]
    const [row] = await query('select extract(epoch from clock_timestamp())::float8 * 1000 as ms')
    const half = (performance.now() - before) / 2
    if (half < best.clockUncertainMs)
      best = { clockAheadMs: Math.round(Number(row?.['ms']) - begun - half), clockUncertainMs: Math.ceil(half) }
  }
  return best
}
