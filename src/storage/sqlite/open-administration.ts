import { Kysely } from 'kysely'
import type { Instant } from '../../core/ids.ts'
import type { Administration } from '../../core/ports/administration.ts'
import { createAdministration } from '../shared/administration.ts'
import { listChannelMemory, type RememberedEntry, type WantedMemory } from '../shared/list-channel-memory.ts'
import type { Tables } from '../shared/tables.ts'
import { sqliteEngine } from './administration-engine.ts'
import { createSqliteDialect } from './kysely-dialect.ts'
import { openDatabase } from './open-database.ts'

export interface OpenAdministration {
  readonly administration: Administration
  listChannelMemory(wanted: WantedMemory): AsyncIterable<RememberedEntry>
  /** Harmless twice. */
  close(): void
}

/** Opens the database for a short visit beside a running service. `create` makes it when there is none. */
export function openAdministration(
  path: string,
  { create, now }: { readonly create: boolean; readonly now: () => Instant },
): OpenAdministration {
  const database = openDatabase(path, { create })
  const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(database) })
  return {
    administration: createAdministration({ database: kysely, engine: sqliteEngine, now }),
    listChannelMemory: (wanted) => listChannelMemory(kysely, wanted),
    close() {
      if (database.isOpen) database.close()
    },
  }
}
