import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Kysely } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { Administration } from '../../../core/ports/administration.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import type { SecretStore } from '../../../core/ports/secrets.ts'
import { OF_DISKS } from '../../../core/system-errors.ts'
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
import { createSqliteDialect } from '../connection/kysely-dialect.ts'
import { type OpenOptions, openDatabase, versionOf } from '../connection/open-database.ts'
import { findServiceHolder } from '../connection/service-lock.ts'
import { whyNotWritten } from '../connection/sqlite-errors.ts'
import { noteStates } from '../lanes/notification-trigger.ts'
import { sqliteEngine } from './administration-engine.ts'

export interface OpenAdministration {
  readonly administration: Administration
  /** The store of the administration. */
  readonly store: Store
  /** What is sealed in it. */
  openSecretStore(): SecretStore
  listChannelMemory(wanted: WantedMemory): AsyncIterable<RememberedEntry>
  /** May be called twice. */
  close(): void
}

/**
 * Opens the database for a command, beside a running service. `create` makes it when there is none. An older one is still
 * refused, because the service may be of that version.
 */
export function openAdministration(
  path: string,
  { now, ...options }: OpenOptions & { readonly now: () => Instant },
): OpenAdministration {
  const create = options.create && versionOf(path) === 0
  const database = openDatabase(path, { ...options, create })
  noteStates(database, now)
  const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(database) })
  const store: Store = {
    database: kysely,
    engine: sqliteEngine,
    now,
    findStorageError: async () => tryToWrite(dirname(path)),
    findHolder: () => findServiceHolder(join(dirname(path), 'service.lock')),
  }
  return {
    administration: createAdministration(store),
    store,
    openSecretStore() {
      // What is replaced is overwritten with zeros, in the pages that are written anyway. Only on this connection.
      database.exec('pragma secure_delete = on')
      return createSecretStore(store)
    },
    listChannelMemory: (wanted) => listChannelMemory(kysely, wanted),
    close() {
      if (database.isOpen) database.close()
    },
  }
}

// As much as the largest message.
const TRIED = Buffer.alloc(64 * 1_024)

/**
 * A service that cannot write cannot store that fact either. So this tries it with a file beside the database, which no lock
 * blocks. What this user may not write says nothing about the service.
 */
function tryToWrite(folder: string): StorageError | null {
  try {
    const path = join(folder, `.tried-${process.pid}`)
    const file = openSync(path, 'wx', 0o600)
    try {
      unlinkSync(path)
      writeSync(file, TRIED)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    return null
  } catch (error) {
    const isError = error instanceof Error && 'code' in error && OF_DISKS.has(error.code)
    return isError ? toStorageError(whyNotWritten(error), null) : null
  }
}
