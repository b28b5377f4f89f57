import { Client } from 'pg'
import type { TestDatabase } from '../postgres/test-database.ts'
import { openMigratedDatabase } from './migrated-database.ts'

export const DAY_MS = 86_400_000
export const FIRST_DAY = Date.UTC(2027, 0, 1, 12)

/** Its clock reads the one row of `day`, in milliseconds. The caller ends `client` before the database is dropped. */
export async function openDatabaseOfDays(): Promise<{ readonly database: TestDatabase; readonly client: Client }> {
  const database = await openMigratedDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query(
    `create table day (ms bigint); insert into day values (${FIRST_DAY});
     create or replace function now_ms() returns bigint language sql as 'select ms from day'`,
  )
  return { database, client }
}
