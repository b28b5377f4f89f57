import type { Settings } from '../../config/read-settings.ts'
import type { Instant } from '../../core/ids.ts'
import type { ConsoleStore } from '../../core/ports/console/console-store.ts'
import type { StorageError } from '../../core/ports/lanes.ts'
import { CheckpointFile } from '../../storage/queries/checkpoint.ts'
import { FairScheduler } from './fair-scheduling.ts'

/** The console's store while it is open. */
export interface ConsoleStorage {
  readonly store: ConsoleStore
  /** Begins what is done in the background. */
  start(): void
  /** How many queries wait for their answer. Cheap. */
  openQueries(): number
  /** Frees what a query made it take, unless another is under way. The next query takes it again. */
  rest(): void
  /** Lets what is open be answered. Harmless twice. */
  close(): Promise<void>
}

interface ConsoleStorageOptions {
  /** Time as all processes on this database agree on it. */
  readonly now: () => Instant
  /** Why the service itself can write nothing at present. */
  readonly findError: () => StorageError | null
  /** What went wrong in the background; it goes on by itself. */
  readonly onError: (error: unknown) => void
}

/** Opens what the console reads and changes, beside the service's own storage. Only the engine that was chosen is loaded. */
export async function openConsoleStore(settings: Settings, options: ConsoleStorageOptions): Promise<ConsoleStorage> {
  const storage = await openEngine(settings, options)
  const fairly = new FairScheduler()
  return {
    store: fairly.share(storage.store),
    start: () => storage.start(),
    openQueries: () => storage.openQueries() + fairly.waiting,
    rest: () => storage.rest(),
    close: () => storage.close(),
  }
}

async function openEngine({ database, dataDir }: Settings, options: ConsoleStorageOptions): Promise<ConsoleStorage> {
  if (database.engine === 'postgres') {
    const { ConsoleConnections } = await import('../../storage/postgres/queries/console-store.ts')
    const file = CheckpointFile.in(dataDir)
    return new ConsoleConnections({ url: database.url, file, ...options })
  }
  const { ConsoleThread } = await import('../../storage/sqlite/console-thread/console-store.ts')
  return new ConsoleThread({ path: database.path, ...options })
}
