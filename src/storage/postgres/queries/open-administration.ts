import { Kysely } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { Administration } from '../../../core/ports/administration.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import type { SecretStore } from '../../../core/ports/secrets.ts'
import { createAdministration } from '../../queries/administration.ts'
import {
  listChannelMemory,
  type RememberedEntry,
  type WantedMemory,
} from '../../queries/connections/list-channel-state.ts'
import { createSecretStore } from '../../queries/secrets/secret-store.ts'
import { toStorageError } from '../../queries/storage-health.ts'
import type { Store } from '../../queries/store.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { createPostgresDialect, openPool } from '../connection/kysely-dialect.ts'
import { type DatabaseUrls, migrateDatabase, withConnection } from '../connection/open-database.ts'
import { type Query, whyNotWritten } from '../connection/pg-connection.ts'
import {
  classify,
  describeServer,
  type Kind,
  translateConnectError,
  translateStatementError,
} from '../connection/postgres-errors.ts'
import { checkMigrations, readVersion } from '../schema/migrate.ts'
import { postgresEngine } from './administration-engine.ts'

export interface OpenAdministration {
  readonly administration: Administration
  /** For queries that `administration` does not offer. */
  readonly store: Store
  /** What is sealed in it. */
  openSecretStore(): SecretStore
  listChannelMemory(wanted: WantedMemory): AsyncIterable<RememberedEntry>
  /** Harmless twice. */
  close(): Promise<void>
}

export interface OpenOptions {
  /** Makes the tables when there are none. Older tables are still refused: services may be of that version. */
  readonly create: boolean
  /** Instead of the time of the database. */
  readonly now?: () => Instant
}

/** Opens the database for a command, beside running services. */
export async function openAdministration(urls: DatabaseUrls, options: OpenOptions): Promise<OpenAdministration> {
  const { url } = urls
  const isMissing = (query: Query) => readVersion(query, describeServer(url)).then((version) => version === null)
  if (options.create && (await withConnection(url, isMissing))) await migrateDatabase(urls)
  // Ignores the checkpoint of services: after a failover people read the old primary to see which messages were sent.
  const pool = openPool(url, { user: 'administration', file: null })
  try {
    const databaseNow = await checkDatabase(pool, url)
    const database = new Kysely<Tables>({ dialect: createPostgresDialect(pool, url) })
    const store: Store = {
      database,
      engine: postgresEngine,
      now: options.now ?? databaseNow,
      findStorageError: () => tryToWrite(pool),
    }
    return {
      administration: createAdministration(store),
      store,
      openSecretStore: () => createSecretStore(store),
      listChannelMemory: (wanted) => listChannelMemory(database, wanted),
      close: () => (pool.ending ? Promise.resolve() : pool.end()),
    }
  } catch (error) {
    await pool.end()
    throw error
  }
}

/** Checks the migrations. Returns a clock with the time that all processes on this database use. */
async function checkDatabase(pool: ReturnType<typeof openPool>, url: string): Promise<() => Instant> {
  const client = await pool.connect().catch((error: unknown) => {
    throw translateConnectError(error, url)
  })
  const listener = () => {}
  client.on('error', listener)
  try {
    const query = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows
    await checkMigrations(query, describeServer(url))
    const [row] = await query('select now_ms() as now')
    const [learnt, learntAt] = [row?.['now'] as Instant, performance.now()]
    return () => Math.round(learnt + performance.now() - learntAt)
  } catch (error) {
    throw translateStatementError(error, url)
  } finally {
    client.release()
    client.off('error', listener)
  }
}

// These show only that this role may not write, or cannot now. Services may be able to.
const NO_ERROR: ReadonlySet<Kind> = new Set<Kind>(['denied', 'contended', 'connect', 'unknown', 'data', 'not-there'])

/**
 * Services that cannot write cannot store that fact either. So this tries it with a table that needs new disk space on the
 * server and is never committed.
 */
async function tryToWrite(pool: ReturnType<typeof openPool>): Promise<StorageError | null> {
  const client = await pool.connect().catch(() => null)
  if (!client) return null
  const listener = () => {}
  client.on('error', listener)
  try {
    await client.query(`begin; create temp table tried on commit drop as select repeat('x', 1000) as x; rollback`)
    client.release()
    return null
  } catch (error) {
    client.release(true)
    const kind = classify(error)
    return NO_ERROR.has(kind) ? null : toStorageError(whyNotWritten(error, kind), null)
  } finally {
    client.off('error', listener)
  }
}
