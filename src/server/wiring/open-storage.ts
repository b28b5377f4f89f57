import type { Settings } from '../../config/read-settings.ts'
import { systemClock } from '../system-clock.ts'
import { spoolFolder } from './spool-folder.ts'
import type { Storage, StorageOptions } from './storage.ts'

/** Opens the storage of the engine that was chosen. Only that one is loaded, with the packages it needs. */
export async function openStorage(settings: Settings, options: StorageOptions): Promise<Storage> {
  const { database, dataDir } = settings
  if (database.engine === 'postgres') {
    const { openPostgresStorage } = await import('../../storage/postgres/index.ts')
    const { openSpoolId } = await import('../../media/spool-id.ts')
    const spool = await openSpoolId(spoolFolder(settings))
    return openPostgresStorage({ ...options, ...database, dataDir, spool, clock: systemClock })
  }
  const { SqliteStorage } = await import('../../storage/sqlite/index.ts')
  return new SqliteStorage({ ...options, path: database.path, clock: systemClock })
}
