import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import type { ConsoleStore } from '../../../core/ports/console/console-store.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import { createConsoleStore } from '../../queries/console-store.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { createSqliteDialect } from '../connection/kysely-dialect.ts'
import { openDatabase } from '../connection/open-database.ts'
import { pragma } from '../connection/pragma.ts'
import { noteStates } from '../lanes/notification-trigger.ts'
import { sqliteEngine } from '../queries/administration-engine.ts'

// A quarter of the cache of the service: people mostly read the newest rows, which are in the system's cache, too.
const CACHE_KB = 16_384

/** Opens the database beside a running service, for as long as the console is served. */
export function openConsoleDatabase(
  path: string,
  { findError, onError }: { readonly findError: () => StorageError | null; readonly onError: (error: unknown) => void },
): { readonly store: ConsoleStore; readonly close: () => Promise<void> } {
  const database = openDatabase(path, { create: false })
  database.exec(`pragma cache_size = -${CACHE_KB}`)
  noteStates(database, () => Date.now())
  const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(database) })
  const { store, start, stop } = createConsoleStore(
    {
      database: kysely,
      engine: sqliteEngine,
      now: () => Date.now(),
      findStorageError: async () => findError(),
    },
    { poll: async () => readVersions(database), onError },
  )
  start()
  return {
    store,
    async close() {
      await stop()
      if (database.isOpen) database.close()
    },
  }
}

/** The first number changes with the commits of other connections, the second with our own changes. */
function readVersions(database: DatabaseSync): string {
  const { own } = database.prepare('select total_changes() as own').get() as { own: number }
  return `${pragma(database, 'data_version')}.${own}`
}
