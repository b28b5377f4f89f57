import pg from 'pg'
import { memoryFolder } from './memory-folder.ts'
import { PostgresServer } from './postgres-server.ts'

const URL_SETTING = 'NUNCIO_TEST_POSTGRES_URL'
// The names of our databases begin with this, followed by the number of their run.
const PREFIX = 'nuncio_test_'
// A run holds the advisory lock of its number while it lives. So a later run knows which databases are left over.
const RUN_LOCKS = 1_852_137_315
const OLDEST_VERSION = 15

/** What a worker needs to know about the server. */
export interface SharedAccess {
  /** The URL of a superuser, on a database that belongs to no test. */
  readonly url: string
  /** The prefix of this run's databases. */
  readonly prefix: string
}

/**
 * The one server of a whole test run: started by us, or named by NUNCIO_TEST_POSTGRES_URL. It belongs to the runner's main
 * process, where all workers can ask for it, and starts when the first of them does.
 */
export class SharedServer {
  #access: Promise<SharedAccess> | null = null
  #server: PostgresServer | null = null
  #lockHolder: pg.Client | null = null
  readonly #run = Math.floor(Math.random() * 1_000_000_000)
  readonly #given: string | undefined

  /** `given`: the URL of an existing server. */
  constructor(given = process.env[URL_SETTING]) {
    this.#given = given
  }

  /** After a failure every call gets the same failure, because nothing can have changed within the run. */
  access(): Promise<SharedAccess> {
    this.#access ??= this.#start()
    return this.#access
  }

  async stop(): Promise<void> {
    await this.#access?.catch(() => null)
    if (this.#server) await this.#server.close()
    else await this.#leave()
  }

  async #start(): Promise<SharedAccess> {
    const given = this.#given
    const url = given || (await this.#startOwn())
    try {
      this.#lockHolder = await openLockHolder(url)
    } catch (error) {
      if (!given) throw error
      const words = error instanceof Error ? error.message : String(error)
      throw new Error(`The server of ${URL_SETTING} cannot be used: ${words || 'it does not answer'}`, { cause: error })
    }
    await this.#lockHolder.query('select pg_advisory_lock($1, $2)', [RUN_LOCKS, this.#run])
    await dropAbandoned(this.#lockHolder)
    return { url, prefix: `${PREFIX}${this.#run}_` }
  }

  async #startOwn(): Promise<string> {
    this.#server = await PostgresServer.open({
      // In memory, because creating a database flushes hundreds of files. Switching fsync off would be as fast, but the service
      // refuses to run on such a server.
      parentFolder: memoryFolder(),
      settings: { max_connections: 300, max_wal_size: '256MB', min_wal_size: '32MB' },
      // Thousands of connections are opened. Hiding the password from the loopback would cost a third of the time of each.
      initdbFlags: ['--auth=password'],
    })
    return this.#server.url()
  }

  /** Leaves a given server as it was. */
  async #leave(): Promise<void> {
    if (!this.#lockHolder) return
    try {
      await dropDatabases(this.#lockHolder, this.#run)
      await this.#lockHolder.end()
    } catch {
      // The server is gone or going. The next run drops what is left there.
    }
  }
}

async function openLockHolder(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // If the server goes away, every test that uses it reports that.
  client.on('error', () => {})
  await client.connect()
  try {
    await requireFitting(client)
    return client
  } catch (error) {
    await client.end()
    throw error
  }
}

async function requireFitting(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: number; is_superuser: boolean }>(
    `select current_setting('server_version_num')::int / 10000 as version, rolsuper as is_superuser
       from pg_roles where rolname = current_user`,
  )
  if (rows[0]!.version < OLDEST_VERSION) {
    throw new Error(`it is PostgreSQL ${rows[0]!.version}, and ${OLDEST_VERSION} is the oldest that Nuncio runs on.`)
  }
  if (!rows[0]!.is_superuser) throw new Error('its user is no superuser, and the tests make databases and roles.')
}

async function dropAbandoned(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ run: number }>(
    'select distinct substring(datname from $1)::int as run from pg_database where datname ~ $1',
    [`^${PREFIX}([0-9]{1,9})_`],
  )
  for (const { run } of rows) {
    const lock = [RUN_LOCKS, run]
    const { rows } = await client.query<{ is_free: boolean }>('select pg_try_advisory_lock($1, $2) as is_free', lock)
    if (!rows[0]!.is_free) continue
    await dropDatabases(client, run)
    await client.query('select pg_advisory_unlock($1, $2)', lock)
  }
}

async function dropDatabases(client: pg.Client, run: number): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select datname as name from pg_database where starts_with(datname, $1)',
    [`${PREFIX}${run}_`],
  )
  for (const name of rows.map((row) => pg.escapeIdentifier(row.name))) {
    await client.query(`alter database ${name} with is_template false`)
    await client.query(`drop database if exists ${name} with (force)`)
  }
}
