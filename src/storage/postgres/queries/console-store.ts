import { Kysely, sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { ConsoleStore } from '../../../core/ports/console/console-store.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import type { CheckpointFile } from '../../queries/checkpoint.ts'
import { createConsoleStore } from '../../queries/console-store.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { createPostgresDialect, openPool } from '../connection/kysely-dialect.ts'
import { postgresEngine } from './administration-engine.ts'

interface ConsoleStoreOptions {
  readonly url: string
  /** The checkpoint that the service stores in its data folder. */
  readonly file: CheckpointFile
  /** The time that all processes on this database use. */
  readonly now: () => Instant
  /** Why the service cannot write at present. */
  readonly findError: () => StorageError | null
  /** Called for errors in the background, which goes on by itself. */
  readonly onError: (error: unknown) => void
}

/**
 * The console's store on a few connections of its own, so that page views never use those that accept and dispatch. They
 * are opened on demand and closed when idle.
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
      { poll: () => readVersion(database), onError },
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

  /** Does nothing: the pool closes idle connections by itself. */
  rest(): void {}

  /** Resolves when all background work and all connections have ended. May be called twice. */
  async close(): Promise<void> {
    await this.#stop()
    if (!this.#pool.ending) await this.#pool.end()
  }
}

/** Identifies the transactions that have committed. Reading it takes no lock and no transaction number. */
async function readVersion(database: Kysely<Tables>): Promise<string> {
  const { rows } = await sql<{ version: string }>`select pg_current_snapshot()::text as version`.execute(database)
  return rows[0]?.version ?? ''
}
