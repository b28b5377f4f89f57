import { hash } from 'node:crypto'
import { Client, DatabaseError, type QueryConfig, type QueryResult } from 'pg'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { clientConfig } from './client-config.ts'
import { castsDoubt, classify, type Kind } from './postgres-errors.ts'

// Every query would try to connect again. This spares a server that is away or just coming back.
const CONNECT_AGAIN_AFTER_MS = 50

interface PgConnectionOptions {
  readonly url: string
  readonly applicationName: string
  /**
   * How long a statement may take before its connection is given up, in milliseconds. The statement is not cancelled:
   * a commit that waits for its standby would then count as done without it.
   */
  readonly answerWithinMs: number
  /** After each connection that was made. */
  readonly onConnected?: () => void
  /** Checks a fresh connection before its first query. Throws when it must not be used. */
  readonly validateConnection: (query: Query) => Promise<void>
}

// The session does not know the name, or knows it already, or what it stands for has changed since.
const NAMES_REFUSED = ['26000', '42P05', '0A000']

const WHY_NOTHING_WAS_WRITTEN: Readonly<Partial<Record<Kind, string>>> = {
  full: 'the database server has no memory or connection left',
  'read-only': 'the database takes no writes: it is a standby, or was set to read only',
  'used-up': 'the database has used up its transactions and must be vacuumed',
  denied: 'the database denies its user a right',
  'not-there': 'the tables of the database have changed',
}

/** What a statement that failed says of the whole database, for people, in half a sentence. */
export function whyNotWritten(error: unknown, kind = classify(error)): string {
  const isDiskFull = error instanceof DatabaseError && error.code === '53100'
  if (isDiskFull) return 'the disk of the database server is full'
  return WHY_NOTHING_WAS_WRITTEN[kind] ?? 'the database cannot be written'
}

/** `prepared`: it runs so often that each session of the server should parse it only once. */
export type QueryMode = 'plain' | 'prepared'
export type Row = Record<string, unknown>
export type Query = (sql: string, values?: readonly unknown[]) => Promise<Row[]>

/** The statement was refused as a whole, and nothing of it was written: for a bad value, or for want of a lock. */
export class StatementRefused extends Error {
  readonly kind: 'data' | 'contended'
  constructor(kind: 'data' | 'contended', cause: Error) {
    super(cause.message, { cause })
    this.kind = kind
  }
}

/** Nothing was written, because the server met something damaged. Others of the same batch may have nothing to do with it. */
export class StorageDamaged extends StorageUnavailable {
  constructor(cause: Error) {
    super('the database met something damaged', false, { cause })
  }
}

/**
 * One connection to the database, used for one statement after the other, each in a transaction of its own. Made when it
 * is first needed and again after it broke.
 *
 * The error of a failed statement says exactly what it left behind: nothing (`StorageUnavailable`, `StatementRefused`), or an unknown
 * result (`StorageUnavailable.unknown`).
 */
export class PgConnection {
  readonly #options: PgConnectionOptions
  #client: Promise<Client> | null = null
  #current: Client | null = null
  // Counted, because a reply may come while another statement waits for its own.
  #warnings = 0
  #last: Promise<unknown> = Promise.resolve()
  #failed: { readonly error: StorageUnavailable; readonly until: number } | null = null
  #isClosed = false
  #mayName = true
  readonly #names = new Map<string, string>()

  constructor(options: PgConnectionOptions) {
    this.#options = options
  }

  /** Whether a statement could be handed over at once. */
  get isConnected(): boolean {
    return this.#current !== null
  }

  /** Rejects with StorageUnavailable, at once for a moment after it was tried in vain. */
  async connect(): Promise<void> {
    await this.#connected()
  }

  /** Concurrent statements run one after the other. */
  query(sql: string, values: readonly unknown[] = [], mode: QueryMode = 'plain'): Promise<Row[]> {
    return this.#inTurn(() => this.queryNow(sql, values, mode))
  }

  /** As `query`, but only if there is a connection: a request that waits for one may expire meanwhile and must not be sent then. */
  async queryNow(sql: string, values: readonly unknown[] = [], mode: QueryMode = 'plain'): Promise<Row[]> {
    const { rows } = await this.#pose((client, withinMs) => {
      const query = { text: sql, values: values as unknown[] }
      if (mode === 'plain') return queryClient(client, query, withinMs)
      return this.#named(sql, (name) => queryClient(client, { ...query, name }, withinMs))
    })
    return rows
  }

  #inTurn<Result>(query: () => Promise<Result>): Promise<Result> {
    const answer = this.#last.then(async () => {
      await this.#connected()
      return query()
    })
    this.#last = answer.catch(() => {})
    return answer
  }

  async #pose<Result>(question: (client: Client, withinMs: number) => Promise<Result>): Promise<Result> {
    const client = this.#current
    if (!client) throw connectionLost()
    const warnings = this.#warnings
    try {
      const result = await question(client, this.#options.answerWithinMs)
      if (this.#warnings === warnings) return result
    } catch (error) {
      throw this.#explain(client, error)
    }
    // "canceling wait for synchronous replication": it says that it has committed, but no standby has it.
    throw new StorageUnavailable('the database committed with a warning', true)
  }

  /**
   * A pooler before PgBouncer 1.21 routes each statement to any session and does not know prepared names. Such a statement has
   * done nothing, so it is sent again without a name, and so are all later ones.
   */
  async #named<Result>(text: string, query: (name: string) => Promise<Result>): Promise<Result> {
    if (!this.#mayName) return query('')
    try {
      return await query(this.#nameOf(text))
    } catch (error) {
      if (!(error instanceof DatabaseError && NAMES_REFUSED.includes(error.code ?? ''))) throw error
      this.#mayName = false
      return query('')
    }
  }

  /** Made from the text, because behind a pooler a process of another version may have named queries in the same session. */
  #nameOf(text: string): string {
    let name = this.#names.get(text)
    if (name === undefined) {
      name = `nuncio_${hash('sha256', text).slice(0, 24)}`
      this.#names.set(text, name)
    }
    return name
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const client = await this.#client?.catch(() => null)
    this.#client = null
    await client?.end().catch(() => {})
  }

  #connected(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(new StorageUnavailable('the database was closed', false))
    if (this.#failed && performance.now() < this.#failed.until) return Promise.reject(this.#failed.error)
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = null
      const failure =
        error instanceof StorageUnavailable
          ? error
          : new StorageUnavailable('the database cannot be reached', false, { cause: error })
      this.#failed = { error: failure, until: performance.now() + CONNECT_AGAIN_AFTER_MS }
      throw failure
    })
    return this.#client
  }

  async #connect(): Promise<Client> {
    const { url, applicationName, answerWithinMs, validateConnection } = this.#options
    const client = new Client(clientConfig(url, applicationName))
    let hasBroken = false
    const forget = () => {
      hasBroken = true
      this.#forget(client)
    }
    client.on('error', forget)
    client.on('end', forget)
    client.on('notice', (notice) => {
      if (castsDoubt(notice)) this.#warnings += 1
    })
    try {
      await client.connect()
      await validateConnection(
        async (sql, values = []) =>
          (await queryClient(client, { text: sql, values: values as unknown[] }, answerWithinMs)).rows,
      )
      // It may have broken after its last query: pg says so once, and would refuse every statement from then on.
      if (hasBroken) throw connectionLost()
    } catch (error) {
      this.#drop(client)
      throw error
    }
    this.#options.onConnected?.()
    this.#current = client
    this.#failed = null
    return client
  }

  #explain(client: Client, error: unknown): Error {
    const kind = classify(error)
    switch (kind) {
      case 'data':
      case 'contended':
        return new StatementRefused(kind, error as Error)
      case 'damaged':
        return new StorageDamaged(error as Error)
      case 'unknown':
        this.#drop(client)
        return new StorageUnavailable('the connection to the database broke', true, { cause: error })
      case 'read-only':
        this.#drop(client)
        return new StorageUnavailable(whyNotWritten(error, kind), false, { cause: error })
      case 'unverified':
        // The next connection is validated, and so is the server.
        this.#drop(client)
        return new StorageUnavailable('the database is on another server now', false, { cause: error })
      default:
        return new StorageUnavailable(whyNotWritten(error, kind), false, { cause: error })
    }
  }

  #drop(client: Client): void {
    this.#forget(client)
    // Not `end`: that would wait for an answer which may never come.
    ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  }

  #forget(client: Client): void {
    if (this.#current !== client) return
    this.#current = null
    this.#client = null
  }
}

function connectionLost(): StorageUnavailable {
  return new StorageUnavailable('the connection to the database was lost', false)
}

/**
 * Runs one statement and stops waiting after so many milliseconds. The statement is then not cancelled, and the connection is
 * unusable. Rejects with what pg says, or with an Error of its own that `classify` calls unknown.
 *
 * Neither pg's promises nor its `query_timeout` are used, because both assign a new function to each query. V8 makes such
 * functions in the old generation of its heap, where each kept all that its statement had touched (values, rows, the waiting
 * requests) until the next full collection: that one came twice a second and blocked the process for 50 ms.
 */
export function queryClient(
  client: Client,
  query: QueryConfig,
  answerWithinMs: number,
): Promise<QueryResult<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(giveUp, answerWithinMs, reject)
    client.query<Record<string, unknown>>(query, (error, result) => {
      clearTimeout(timer)
      // pg's types say that there is always an error.
      if (error as Error | null) reject(error)
      else resolve(result)
    })
  })
}

function giveUp(reject: (error: Error) => void): void {
  reject(new Error('The database did not answer in time'))
}
