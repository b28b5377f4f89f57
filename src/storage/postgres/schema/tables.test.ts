import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'vitest'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase } from '../../../../test/support/postgres/test-database.ts'
import * as sqlite from '../../sqlite/schema/migrate.ts'
import { migrateDatabase } from '../connection/open-database.ts'

it('has every table and column of SQLite, because the generated types of the tables serve both engines', async () => {
  const database = await openTestDatabase()
  await migrateDatabase({ url: database.url, migrateUrl: database.url })
  const { rows } = await withClient(database.url, (client) =>
    client.query<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns where table_schema = current_schema()`,
    ),
  )
  const reference = new DatabaseSync(':memory:')
  for (const { sql } of sqlite.readMigrations()) reference.exec(sql)
  const columns = reference
    .prepare(
      `select t.name || '.' || c.name as name from sqlite_schema t, pragma_table_info(t.name) c
         where t.type in ('table', 'view') and t.name <> 'sqlite_sequence'`,
    )
    .all()

  const found = new Set(rows.map(({ name }) => name))
  const missing = columns.map(({ name }) => name as string).filter((name) => !found.has(name))

  assert.deepEqual(missing, [])
  reference.close()
  await database.drop()
})
