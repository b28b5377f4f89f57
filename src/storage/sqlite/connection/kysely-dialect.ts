import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely'
import { Refusal } from '../../../core/refusals.ts'
import { storageError, whyNotOpened } from './sqlite-errors.ts'

/** Lets Kysely use an open database. The caller closes the database. */
export function createSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(database),
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/**
 * One connection, lent to one user at a time: a query from outside would otherwise slip into another's transaction.
 */
class SqliteDriver implements Driver {
  readonly #database: DatabaseSync
  readonly #connection: SqliteConnection
  #free: Promise<void> = Promise.resolve()
  #giveBack: () => void = () => {}

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#connection = new SqliteConnection(database)
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#free
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#free = promise
    await before
    this.#giveBack = resolve
    return this.#connection
  }

  async releaseConnection(): Promise<void> {
    this.#giveBack()
  }

  async beginTransaction(_connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    // Immediate: a transaction that reads first and writes later would fail when the service wrote in between, and
    // the busy timeout does not help there. One that only reads must not keep the service from writing.
    this.#connection.exec(settings.accessMode === 'read only' ? 'begin' : 'begin immediate')
  }

  async commitTransaction(): Promise<void> {
    this.#connection.exec('commit')
  }

  async rollbackTransaction(): Promise<void> {
    // On a full disk SQLite may have rolled back already.
    if (this.#database.isTransaction) this.#connection.exec('rollback')
  }

  async destroy(): Promise<void> {}
}

class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  exec(sql: string): void {
    try {
      this.#database.exec(sql)
    } catch (error) {
      throw translateStatementError(error, this.#database)
    }
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      const statement = this.#database.prepare(sql)
      const values = parameters as readonly SQLInputValue[]
      if (statement.columns().length > 0) return { rows: statement.all(...values) as Row[] }
      const { changes, lastInsertRowid } = statement.run(...values)
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
    } catch (error) {
      throw translateStatementError(error, this.#database)
    }
  }

  streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    // An open cursor keeps the write-ahead log from being cleared. Long lists are read in pages instead.
    throw new Error('Queries are not streamed on SQLite: read in pages.')
  }
}

function translateStatementError(error: unknown, database: DatabaseSync): unknown {
  const cause = { cause: error }
  switch (storageError(error)) {
    case 'busy':
      return new Refusal('database_busy', undefined, null, cause)
    case 'full':
      return new Refusal(
        'database_unavailable',
        'There is no room left on the disk of the database. Nothing was changed: make room and try again.',
        null,
        cause,
      )
    case 'broken': {
      const path = database.isOpen ? database.location() : null
      const vague =
        'The database cannot be read or written. Check the disk and the permissions of its folder; if the file is damaged, restore a backup.'
      return new Refusal('database_unavailable', (path ? whyNotOpened(path) : null) ?? vague, null, cause)
    }
    default:
      return error
  }
}
