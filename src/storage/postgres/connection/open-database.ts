import type { Client } from 'pg'
import { Refusal } from '../../../core/refusals.ts'
import { applyMigrations, checkMigrations } from '../schema/migrate.ts'
import { clientConfig } from './client-config.ts'
import { CONNECTIONS_OF_A_PROCESS } from './connection-purposes.ts'
import type { Query, Row } from './pg-connection.ts'
import { describeServer, translateConnectError, translateStatementError } from './postgres-errors.ts'
import { TidyClient } from './tidy-client.ts'

const OLDEST_VERSION = 150_000

const READ_ONLY = 'default_transaction_read_only'

interface Found {
  readonly version_number: number
  readonly version: string
  readonly encoding: string
  readonly is_standby: boolean
  readonly connections: number
  readonly role: string
  readonly database: string
  /** The values of those in `NEEDED`. */
  readonly settings: Readonly<Record<string, string>>
}

interface NeededSetting {
  readonly name: string
  readonly allowed: readonly string[]
  /** Where it is set: for the whole server only, or for a role in a database too. */
  readonly scope: 'server' | 'role'
  /** What would happen otherwise. */
  readonly otherwise: string
}

/** Some of these make a 200 durable (G1). Our transactions and triggers rely on the others (G7). */
const NEEDED: readonly NeededSetting[] = [
  {
    name: 'fsync',
    allowed: ['on'],
    scope: 'server',
    otherwise: 'a power cut would lose or damage what was committed',
  },
  {
    name: 'full_page_writes',
    allowed: ['on'],
    scope: 'server',
    otherwise: 'a power cut would damage pages that were being written',
  },
  {
    name: 'synchronous_commit',
    allowed: ['on', 'remote_apply'],
    scope: 'role',
    otherwise: 'a crash would lose what was committed last',
  },
  {
    name: READ_ONLY,
    allowed: ['off'],
    scope: 'role',
    otherwise: 'nothing can be written',
  },
  {
    name: 'default_transaction_isolation',
    allowed: ['read committed'],
    scope: 'role',
    otherwise: 'rights that were just taken away would still count',
  },
  {
    name: 'session_replication_role',
    allowed: ['origin', 'local'],
    scope: 'role',
    otherwise:
      'no trigger would fire, so what is cancelled would be sent, and rights that were just taken away would still count',
  },
  {
    name: 'client_min_messages',
    allowed: ['notice', 'warning', 'log', 'debug1', 'debug2', 'debug3', 'debug4', 'debug5', 'info'],
    scope: 'role',
    otherwise: 'a commit that its standby has not confirmed would not be reported',
  },
]

// The source of a value is read only for a wrong one, because that query lists all settings of the server and takes longer than
// this one.
const SERVER_FACTS = `select current_setting('server_version_num')::int as version_number, current_setting('server_version') as version,
    current_setting('server_encoding') as encoding, pg_is_in_recovery() as is_standby,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections,
    current_user as role, current_database() as database,
    json_build_object(${NEEDED.map(({ name }) => `'${name}', current_setting('${name}')`).join()}) as settings`

export interface DatabaseUrls {
  readonly url: string
  /** The same database, as the owner of the tables; often the same URL. */
  readonly migrateUrl: string
}

/** Migrates the database, creating its tables when there are none. Returns the version before and after. */
export async function migrateDatabase(urls: DatabaseUrls): Promise<{ readonly from: number; readonly to: number }> {
  const { url, migrateUrl } = urls
  if (url === migrateUrl)
    return withConnection(url, (query) => applyMigrations({ query, appRole: null, place: describeServer(url) }))
  const app = await withConnection(url, whoIsThere)
  const place = describeServer(migrateUrl)
  const result = await withConnection(migrateUrl, async (query) => {
    const owner = await whoIsThere(query)
    return applyMigrations({ query, appRole: owner.role === app.role ? null : app.role, place })
  })
  await withConnection(url, (query) => refuseElsewhere(query, url))
  return result
}

async function whoIsThere(query: Query): Promise<{ readonly role: string }> {
  const [row] = await query('select current_user as role')
  return row as { role: string }
}

/** Two URLs that lead to different databases, or two roles that use different schemas of one. */
async function refuseElsewhere(query: Query, url: string): Promise<void> {
  try {
    await checkMigrations(query, describeServer(url))
  } catch (error) {
    throw new Refusal(
      'database_unavailable',
      'NUNCIO_DATABASE_MIGRATE_URL and NUNCIO_DATABASE_URL do not lead to the same tables: they must name the same database, and both users the same search_path.',
      null,
      { cause: error },
    )
  }
}

/** Asks on a connection of its own, whose server is checked first, and ends it. Refuses with one clear sentence. */
export async function withConnection<Result>(url: string, work: (query: Query) => Promise<Result>): Promise<Result> {
  const client = await connect(url)
  const query: Query = async (sql, values = []) => (await client.query<Row>(sql, [...values])).rows
  try {
    await checkServer(query, url)
    return await work(query)
  } catch (error) {
    throw translateStatementError(error, url)
  } finally {
    await client.end().catch(() => {})
  }
}

/** A connection whose server is not checked yet. */
export async function connect(url: string): Promise<Client> {
  try {
    const client = new TidyClient(clientConfig(url, 'nuncio'))
    await client.connect()
    return client
  } catch (error) {
    throw translateConnectError(error, url)
  }
}

/**
 * Checks the server behind a fresh connection, in one query if nothing is wrong. Refuses with a sentence that says what is wrong
 * and how to fix it. To be called for every connection: the one before may have led to another server.
 */
export async function checkServer(query: Query, url: string): Promise<void> {
  const [row] = await query(SERVER_FACTS)
  const found = row as unknown as Found
  refuseKind(found, `PostgreSQL at ${describeServer(url)}`)
  for (const needed of NEEDED) {
    const value = found.settings[needed.name] ?? 'unknown'
    if (!needed.allowed.includes(value)) await refuseSetting(needed, value, { query, found })
  }
}

function refuseKind(found: Found, server: string): void {
  const { version_number, version, encoding, is_standby, connections, database } = found
  if (version_number < OLDEST_VERSION)
    throw new Refusal(
      'database_unsupported',
      `${server} is of version ${version}, and Nuncio needs 15 or newer. Upgrade the server.`,
    )
  if (encoding !== 'UTF8') {
    throw new Refusal(
      'database_unsupported',
      `The database “${database}” of ${server} keeps its text as ${encoding}, and Nuncio needs UTF8. Make another: create database NAME encoding 'UTF8' template template0`,
    )
  }
  if (is_standby)
    throw new Refusal(
      'database_unavailable',
      `${server} is a standby, which takes no writes. Name the primary in the URL.`,
    )
  if (connections < CONNECTIONS_OF_A_PROCESS) {
    throw new Refusal(
      'database_unsupported',
      `${server} allows ${connections} connections, and one process of Nuncio may need ${CONNECTIONS_OF_A_PROCESS}. Raise max_connections in postgresql.conf and restart it.`,
    )
  }
}

async function refuseSetting(
  needed: NeededSetting,
  value: string,
  { query, found }: { readonly query: Query; readonly found: Found },
): Promise<never> {
  const [row] = await query(`select source from pg_settings where name = '${needed.name}'`)
  const remedy = remedyFor(needed, row?.['source'] as string, found)
  throw new Refusal('database_unsafe', `${needed.name} is ${value}: ${needed.otherwise}. ${remedy}`)
}

/** A setting of a narrower scope wins, so it must be changed there, or in a scope that is narrower still. */
function remedyFor({ name, allowed, scope }: NeededSetting, source: string, { role, database }: Found): string {
  const [value = ''] = allowed
  if (source === 'client' || source === 'session') return `It is set in the URL or by a pooler: take it out there.`
  if (source === 'command line') return `The server was started with it: take it out of its command line.`
  if (scope === 'server') return `Set in postgresql.conf: ${name} = ${value}. Then: select pg_reload_conf()`
  const change = `alter role ${quoted(role)} in database ${quoted(database)} set ${name} = '${value}'`
  // The session that changes this setting may be read-only as well.
  return `Fix it with: ${name === READ_ONLY ? `begin read write; ${change}; commit` : change}`
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
