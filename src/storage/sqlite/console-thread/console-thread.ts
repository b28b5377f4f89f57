import type { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
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
import { type FromThread, packError, type ToThread, withBuffers } from './console-messages.ts'

// A quarter of the cache of the service: people mostly read the newest rows, which are in the system's cache, too.
const CACHE_KB = 16_384

/**
 * The thread in which the console reads. It opens the database as the command line does, beside the service, so a long
 * query of the log never blocks the thread that accepts.
 */
const port = parentPort
if (!port) throw new Error('This file is the body of a worker thread')

function send(message: FromThread): void {
  port?.postMessage(message)
}

try {
  const { path } = workerData as { readonly path: string }
  const onError = (error: unknown) => send({ kind: 'error', thrown: packError(error) })
  let storageError: StorageError | null = null
  const { store, close } = openConsoleDatabase(path, { findError: () => storageError, onError })
  const open = new Set<Promise<void>>()

  port.on('message', (message: ToThread) => {
    if (message.kind === 'close') {
      void Promise.allSettled(open)
        .then(close)
        .finally(() => port.close())
      return
    }
    storageError = message.error
    const answered = answer(message).finally(() => open.delete(answered))
    open.add(answered)
  })

  async function answer({ call, area, verb, args }: Extract<ToThread, { kind: 'call' }>): Promise<void> {
    try {
      const verbs = store[area] as unknown as Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>
      if (!Object.hasOwn(verbs, verb)) throw new Error(`The console's store knows no ${area}.${verb}`)
      send({ kind: 'value', call, value: await verbs[verb]?.(...(withBuffers(args) as unknown[])) })
    } catch (error) {
      send({ kind: 'thrown', call, thrown: packError(error) })
    }
  }
} catch (error) {
  send({ kind: 'thrown', call: null, thrown: packError(error) })
}

/** Opens the database beside a running service, for as long as the console is served. */
function openConsoleDatabase(
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
