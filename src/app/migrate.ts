import type { Settings } from '../config/read-settings.ts'
import { migrateDatabase } from '../storage/sqlite/open-database.ts'

/** Brings the database up to date and says from which version to which. */
export async function migrate(settings: Settings): Promise<{ readonly from: number; readonly to: number }> {
  return migrateDatabase(settings.database.path)
}
