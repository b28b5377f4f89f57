import type { Settings } from '../../config/read-settings.ts'
import type { Administration } from '../../core/ports/administration.ts'
import type { SecretStore } from '../../core/ports/secrets.ts'
import type { RememberedEntry, WantedMemory } from '../../storage/queries/connections/list-channel-state.ts'
import type { Store } from '../../storage/queries/store.ts'
import { systemClock } from '../system-clock.ts'

/** What an engine offers to a command. */
interface OpenEngine {
  readonly administration: Administration
  readonly store: Store
  openSecretStore(): SecretStore
  listChannelMemory(wanted: WantedMemory): AsyncIterable<RememberedEntry>
  close(): void | Promise<void>
}

/** Only the engine that was chosen is loaded, with the packages it needs. */
export async function openEngine({ database }: Settings, create: boolean): Promise<OpenEngine> {
  if (database.engine === 'postgres') {
    const { openAdministration: openPostgres } = await import('../../storage/postgres/queries/open-administration.ts')
    return openPostgres(database, { create })
  }
  const { openAdministration: openSqlite } = await import('../../storage/sqlite/queries/open-administration.ts')
  return openSqlite(database.path, { create, now: () => systemClock.now() })
}
