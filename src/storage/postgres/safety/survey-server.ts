import type { Client } from 'pg'
import { newestOf } from '../../queries/migrations.ts'
import { checkServer, connect } from '../connection/open-database.ts'
import { describeServer, translateStatementError } from '../connection/postgres-errors.ts'
import { readMigrations, readVersion } from '../schema/migrate.ts'

/** What can be seen of the server and our tables without changing anything. */
export interface ServerSurvey {
  readonly server: string
  readonly version: string
  /** Of the server’s settings, as they count for our role. */
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly synchronousStandbys: string
  /** Connections that others may still make, and how many there may be in all. */
  readonly connectionsLeft: number
  readonly connections: number
  readonly transactions: NumberSupply
  /** Numbers of another kind, for rows that several transactions hold at once. */
  readonly multixacts: NumberSupply
  readonly isSuperuser: boolean
  /** Something between us and the server answers for it, such as a pooler. */
  readonly isThroughPooler: boolean
  /** How much later the clock of the server shows than ours, in milliseconds, and how far that may be off. */
  readonly clockAheadMs: number
  readonly clockUncertainMs: number
  /** The newest migration in the database, null when our tables are not there; and the newest that we know. */
  readonly migrated: number | null
  readonly known: number
}

export interface NumberSupply {
  /** How many the server can still give out if nothing is vacuumed; then it writes no more. */
  readonly left: number
  /** How many more it has given out than it was told to before it vacuums in any case; below 0: so many fewer. */
  readonly overdue: number
}

// Half of all numbers of transactions, or of multixacts, can be in use at a time, and of these a server keeps three
// million back.
const MOST_NUMBERS = 2 ** 31 - 3_000_000

const LOOK = `select current_setting('server_version') as version, current_setting('fsync') as fsync,
    current_setting('full_page_writes') as full_page_writes, current_setting('synchronous_commit') as synchronous_commit,
    current_setting('synchronous_standby_names') as synchronous_standbys, current_setting('is_superuser') = 'on' as is_superuser,
    pg_backend_pid() as pid,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections,
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
    (select max(age(datfrozenxid)) from pg_database) as transactions,
    current_setting('autovacuum_freeze_max_age')::bigint as most_transactions,
    (select max(mxid_age(datminmxid)) from pg_database) as multixacts,
    current_setting('autovacuum_multixact_freeze_max_age')::bigint as most_multixacts`

/** Refuses, as the service does, a server that it could not trust, and tables that are not for it. */
export async function surveyServer(url: string, now: () => number): Promise<ServerSurvey> {
  const client = await connect(url)
  const ask = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows
  try {
    await checkServer(ask, url)
    const [row] = await ask(LOOK)
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
      ...(await compareClocks(ask, now)),
      migrated: await readVersion(ask, describeServer(url)),
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

/** What the other end of the connection called itself. A pooler makes a number up. */
function processOf(client: Client): number | null {
  return (client as Client & { readonly processID: number | null }).processID
}

const LOOKS = 5

/** Of several looks the quickest, because half of the way there and back is all that is unknown of it. */
async function compareClocks(
  ask: (sql: string) => Promise<Record<string, unknown>[]>,
  now: () => number,
): Promise<Pick<ServerSurvey, 'clockAheadMs' | 'clockUncertainMs'>> {
  let best = { clockAheadMs: 0, clockUncertainMs: Number.POSITIVE_INFINITY }
  for (let look = 0; look < LOOKS; look++) {
    const [begun, before] = [now(), performance.now()]
    const [row] = await ask('select extract(epoch from clock_timestamp())::float8 * 1000 as ms')
    const half = (performance.now() - before) / 2
    if (half < best.clockUncertainMs)
      best = { clockAheadMs: Math.round(Number(row?.['ms']) - begun - half), clockUncertainMs: Math.ceil(half) }
  }
  return best
}
