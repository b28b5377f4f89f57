import { Kysely, sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { ConsoleStore } from '../../../core/ports/console/console-store.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import type { CheckpointFile } from '../../queries/checkpoint.ts'
import { createConsoleStore } from '../../queries/console-store.ts'
import type { Tables } from '../../queries/tables.ts'
import { createPostgresDialect, openPool } from '../connection/kysely-dialect.ts'
import { postgresEngine } from './administration-engine.ts'

interface ConsoleStoreOptions {
  readonly url: string
  /** What the service remembers beside the data. */
  readonly file: CheckpointFile
  /** Time as all processes on this database agree on it. */
  readonly now: () => Instant
  /** Why the service itself can write nothing at present. */
  readonly findError: () => StorageError | null
  /** What went wrong in the background; it goes on by itself. */
  readonly onError: (error: unknown) => void
}

/**
 * The console's store on connections of its own: few, so that people who look at pages never take those that accept and
 * dispatch. They are made when somebody comes, and given up when nobody does.
 */
export class ConsoleConnections {
  readonly store: ConsoleStore
  readonly #pool: ReturnType<typeof openPool>
  readonly #start: () => void
  readonly #stop: () => Promise<void>

  constructor({ url, file, now, findError, onError }: ConsoleStoreOptions) {
    this.#pool = openPool(url, { user: 'console', file })
    const database = new Kysely<Tables>({ dialect: createPostgresDialect(this.#pool, url) })
    const { store, start, stop } = createConsoleStore(
      { database, engine: postgresEngine, now, findStorageError: async () => findError() },
      { look: () => lookAt(database), onError },
    )
    this.store = store
    this.#start = start
    this.#stop = stop
  }

  start(): void {
    this.#start()
  }

  /** How many statements wait for one of the connections. */
  openQueries(): number {
    return this.#pool.waitingCount
  }

  /** Nothing: what it holds are connections, and the pool lets go of those by itself. */
  rest(): void {}

  /** Resolves when nothing is done in the background, and all connections are ended. Harmless twice. */
  async close(): Promise<void> {
    await this.#stop()
    if (!this.#pool.ending) await this.#pool.end()
  }
}

/** Which transactions are done, of all that ever wrote here. To look takes no lock and no place among them. */
async function lookAt(database: Kysely<Tables>): Promise<string> {
  const { rows } = await sql<{ mark: string }>`select pg_current_snapshot()::text as mark`.execute(database)
  return rows[0]?.mark ?? ''
}
