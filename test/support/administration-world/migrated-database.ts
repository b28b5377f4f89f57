import { migrateDatabase } from '../../../src/storage/postgres/connection/open-database.ts'
import { openTestDatabase, type TestDatabase } from '../postgres/test-database.ts'

/** A database of PostgreSQL with our tables, all empty. */
export function openMigratedDatabase(): Promise<TestDatabase> {
  return openTestDatabase({
    name: 'administration',
    prepare: async (url) => void (await migrateDatabase({ url, migrateUrl: url })),
  })
}
