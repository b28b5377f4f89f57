import { openDatabase } from '../../src/storage/sqlite/open-database.ts'

/** The whole schema after all migrations, so that a review shows the effect of a new one. */
export function makeSqliteSchema(): string {
  const database = openDatabase(':memory:', { create: true })
  const rows = database
    .prepare(`select sql from sqlite_schema where sql is not null and name not like 'sqlite_%' order by type, name`)
    .all()
  database.close()
  const statements = rows.map((row) => `${String(row['sql'])};`)
  return `-- Printed from the migrations by \`npm run generate\`. Do not edit.\n\n${statements.join('\n\n')}\n`
}
