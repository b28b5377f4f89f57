import { Kysely } from 'kysely'
import type { Instant } from '../../core/ids.ts'
import type { Administration } from '../../core/ports/administration.ts'
import type { SecretStore } from '../../core/ports/secrets.ts'
import { createAdministration } from '../shared/administration.ts'
import { listChannelMemory, type RememberedEntry, type WantedMemory } from '../shared/list-channel-memory.ts'
import { createSecretStore } from '../shared/secrets/secret-store.ts'
import type { Store } from '../shared/store.ts'
import type { Tables } from '../shared/tables.ts'
import { sqliteEngine } from './administration-engine.ts'
import { createSqliteDialect } from './kysely-dialect.ts'
import { noteStates } from './notice-trigger.ts'
import { type OpenOptions, openDatabase, versionOf } from './open-database.ts'

export interface OpenAdministration {
  readonly administration: Administration
  /** What administration works with. */
  readonly store: Store
  /** What is sealed in it. */
  openSecretStore(): SecretStore
  listChannelMemory(wanted: WantedMemory): AsyncIterable<RememberedEntry>
  /** Harmless twice. */
  close(): void
}

/**
 * Opens the database for a short visit beside a running service. `create` makes it when there is none; an older one is
 * refused all the same, because the service may still be of that version.
 */
export function openAdministration(
  path: string,
  { now, ...options }: OpenOptions & { readonly now: () => Instant },
): OpenAdministration {
  const create = options.create && versionOf(path) === 0
  const database = openDatabase(path, { ...options, create })
  noteStates(database, now)
  const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(database) })
  const store = { database: kysely, engine: sqliteEngine, now }
  return {
    administration: createAdministration(store),
    store,
    openSecretStore() {
      // What is replaced is overwritten with zeros, in the pages that are written anyway. Only of this visit.
      database.exec('pragma secure_delete = on')
      return createSecretStore(store)
    },
    listChannelMemory: (wanted) => listChannelMemory(kysely, wanted),
    close() {
      if (database.isOpen) database.close()
    },
  }
}
