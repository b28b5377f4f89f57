import { Kysely } from 'kysely'
import type { Instant } from '../../../src/core/ids.ts'
import { createAdministration } from '../../../src/storage/queries/administration.ts'
import type { Tables } from '../../../src/storage/queries/tables.generated.ts'
import { createSqliteDialect } from '../../../src/storage/sqlite/connection/kysely-dialect.ts'
import { openDatabase } from '../../../src/storage/sqlite/connection/open-database.ts'
import { sqliteEngine } from '../../../src/storage/sqlite/queries/administration-engine.ts'
import type { WorldDatabase } from './world-database.ts'

/** The database is in memory. */
export async function openSqliteWorldDatabase(now: () => Instant): Promise<WorldDatabase> {
  const database = openDatabase(':memory:', { create: true })
  const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(database) })
  const all: WorldDatabase['all'] = async (sql, ...values) =>
    database
      .prepare(sql)
      .all(...values)
      .map((row) => ({ ...row }))
  const store = { database: kysely, engine: sqliteEngine, now }
  return {
    administration: createAdministration(store),
    store,
    attempts: 'attempt',
    all,
    async run(sql, ...values) {
      database.prepare(sql).run(...values)
    },
    async insertOfLane(table, row) {
      const names = Object.keys(row)
      database
        .prepare(`insert into ${table} (${names.join()}) values (${names.map(() => '?').join()})`)
        .run(...Object.values(row))
    },
    async rewriteMessage(sequence, values) {
      const sets = Object.keys(values).map((name) => `${name} = ?`)
      database.prepare(`update message set ${sets.join()} where sequence = ?`).run(...Object.values(values), sequence)
    },
    async leaveGap() {
      database.exec(
        'update message set sequence = sequence + 350000 where sequence = (select max(sequence) from message)',
      )
    },
    async changedLanes() {
      const rows = await all('select connection_id from lane_change order by position')
      return rows.map((row) => String(row['connection_id']))
    },
    async close() {
      if (database.isOpen) database.close()
    },
  }
}
