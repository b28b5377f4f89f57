import type { AdministrationWorld } from '../administration-world/open-administration-world.ts'

/** Tables of PostgreSQL that hold the same as one table of SQLite. */
const SAME_AS: Readonly<Record<string, string>> = {
  queued: 'message',
  settled: 'message',
  ended_attempt: 'attempt',
  lane_attempt: 'open_attempt',
}

/** All text columns, each under the name of the table that holds the same in SQLite. */
export async function textColumns(
  world: AdministrationWorld,
): Promise<(readonly [table: string, column: string, meant: string])[]> {
  const rows = await world.all(
    world.database.attempts === 'attempt'
      ? `select t.name as table_name, c.name as column_name from sqlite_schema t, pragma_table_info(t.name) c
           where t.type = 'table' and t.name not like 'sqlite%' and c.type = 'TEXT'`
      : `select table_name, column_name from information_schema.columns c
           where table_schema = current_schema() and data_type = 'text'
             and table_name in (select table_name from information_schema.tables where table_type = 'BASE TABLE')
             and table_name not in (select inhrelid::regclass::text from pg_inherits)`,
  )
  return rows.map((row) => {
    const table = String(row['table_name'])
    return [table, String(row['column_name']), SAME_AS[table] ?? table]
  })
}
