import type { Settings } from '../config/read-settings.ts'

/** Brings the database up to date and says from which version to which. */
export async function migrate({ database }: Settings): Promise<{ readonly from: number; readonly to: number }> {
  if (database.engine === 'postgres') {
    const { migrateDatabase } = await import('../storage/postgres/connection/open-database.ts')
    return migrateDatabase(database)
  }
  const { migrateDatabase } = await import('../storage/sqlite/connection/open-database.ts')
  return migrateDatabase(database.path)
}
