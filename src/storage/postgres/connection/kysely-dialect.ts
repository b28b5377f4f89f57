import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import { Pool, type PoolClient } from 'pg'
import type { CheckpointFile } from '../../queries/checkpoint.ts'
import { refuseNotOurs } from '../safety/rollback-detector.ts'
import { clientConfig } from './client-config.ts'
import { MOST_CONNECTIONS_OF_A_POOL } from './connection-purposes.ts'
import { checkServer } from './open-database.ts'
import type { Query, Row } from './pg-connection.ts'
import {
  castsDoubt,
  classify,
  commitUnknown,
  type Notice,
  translateConnectError,
  translateStatementError,
} from './postgres-errors.ts'
import { TidyClient } from './tidy-client.ts'

// A list of everything in a range of a long log may take seconds. A server that has not answered by then never will.
const ANSWER_WITHIN_MS = 60_000
const LOCK_WITHIN_MS = 5_000
// No transaction waits for a person. One that is idle this long belongs to a process that was stopped.
const IDLE_WITHIN_MS = 5_000

interface PoolUser {
  readonly user: string
  /** The checkpoint of the service, which the database is compared with. Null: any database is accepted. */
  readonly file: CheckpointFile | null
}

/**
 * The connections of administration, or of the console. They are opened when needed, and each is checked before its first use.
 */
export function openPool(url: string, { user, file }: PoolUser): Pool {
  const pool = new Pool({
    ...clientConfig(url, `nuncio ${user}`),
    Client: TidyClient,
    max: MOST_CONNECTIONS_OF_A_POOL,
    query_timeout: ANSWER_WITHIN_MS,
    verify(client, done) {
      const query: Query = async (sql) => (await client.query<Row>(sql)).rows
      check(query, url, file).then(() => done(), done)
    },
  })
  // An idle connection that breaks is made anew.
  pool.on('error', () => {})
  return pool
}

async function check(query: Query, url: string, file: CheckpointFile | null): Promise<void> {
  await checkServer(query, url)
  // A database without our tables belongs to no installation yet, and is refused later where it must have them.
  if (file && (await query(`select to_regclass('checkpoint') is not null as yes`))[0]?.['yes'] === true)
    await refuseNotOurs(query, file)
}

/** Lets Kysely speak to PostgreSQL. The code that opened the pool also ends it. */
export function createPostgresDialect(pool: Pool, url: string): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PostgresDriver(pool, url),
    createIntrospector: (kysely) => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

class PostgresDriver implements Driver {
  readonly #pool: Pool
  readonly #url: string

  constructor(pool: Pool, url: string) {
    this.#pool = pool
    this.#url = url
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    try {
      return new PostgresConnection(await this.#pool.connect(), this.#url)
    } catch (error) {
      throw translateConnectError(error, this.#url)
    }
  }

  async beginTransaction(connection: PostgresConnection, settings: TransactionSettings): Promise<void> {
    await connection.begin(settings)
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    await connection.commit()
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    await connection.rollback()
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release()
  }

  async destroy(): Promise<void> {}
}

/** A connection that is lent, for one statement or one transaction. */
class PostgresConnection implements DatabaseConnection {
  readonly #client: PoolClient
  readonly #url: string
  readonly #hear = (notice: Notice) => {
    if (castsDoubt(notice)) this.#warned = true
  }
  readonly #breakDown = () => {
    this.#isBroken = true
  }
  #warned = false
  #isBroken = false

  constructor(client: PoolClient, url: string) {
    this.#client = client
    this.#url = url
    client.on('notice', this.#hear)
    // The pool listens only while the connection is idle, and an unhandled error ends the process.
    client.on('error', this.#breakDown)
  }

  /**
   * All in one round trip. No setting outlives the transaction, so it works through a pooler. None depends on the role's own
   * settings.
   */
  async begin({ isolationLevel = 'read committed', accessMode = 'read write' }: TransactionSettings): Promise<void> {
    const idle = `set_config('idle_in_transaction_session_timeout', '${IDLE_WITHIN_MS}', true)`
    const durable = accessMode === 'read write' ? `, begin_durable_write(${LOCK_WITHIN_MS})` : ''
    await this.#run(`start transaction isolation level ${isolationLevel}, ${accessMode}; select ${idle}${durable}`)
  }

  async commit(): Promise<void> {
    this.#warned = false
    const { command } = await this.#run('commit')
    if (command === 'ROLLBACK') throw new Error('The transaction had failed before, and was rolled back')
    // "canceling wait for synchronous replication": it says that it has committed, but no standby has it.
    if (this.#warned) throw commitUnknown(this.#url, 'no standby has confirmed it')
  }

  async rollback(): Promise<void> {
    try {
      await this.#client.query('rollback')
    } catch {
      // It is rolled back with its connection.
      this.#isBroken = true
    }
  }

  async executeQuery<Result>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Result>> {
    const { command, rowCount, rows } = await this.#run(sql, parameters)
    return command === 'SELECT'
      ? { rows: rows as Result[] }
      : { rows: rows as Result[], numAffectedRows: BigInt(rowCount ?? 0) }
  }

  streamQuery<Result>(): AsyncIterableIterator<QueryResult<Result>> {
    // As on SQLite: a transaction that is open for long keeps the server from tidying up.
    throw new Error('Queries are not streamed: read in pages.')
  }

  release(): void {
    this.#client.release(this.#isBroken)
    this.#client.off('notice', this.#hear)
    this.#client.off('error', this.#breakDown)
  }

  async #run(sql: string, parameters: readonly unknown[] = []) {
    try {
      return await this.#client.query<Row>(sql, [...parameters])
    } catch (error) {
      // A statement may still run on it, whose result is no longer awaited.
      if (classify(error) === 'unknown') this.#isBroken = true
      throw translateStatementError(error, this.#url)
    }
  }
}
