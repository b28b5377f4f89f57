import { sql } from 'kysely'
import type { OverviewEngine } from '../../queries/overview/overview-engine.ts'

export const postgresOverviewEngine: OverviewEngine = {
  enteredOfC: sql`queued e cross join lateral (select e.accepted_at) q where e.connection_id = c.id`,

  // Every message has its entry at once.
  findNotEntered: async () => [],

  async countWaiting(tables, accountId, most) {
    const { rows } = await sql<{ count: number }>`select count(*) as count
      from (select from queued where account_id = ${accountId} limit ${most}) found`.execute(tables)
    return rows[0]?.count ?? 0
  },

  // A transaction lock, because a pooler would lose a session lock. Between its statements the transaction holds no snapshot, so
  // it does not hold back vacuum.
  runAlone(tables, work) {
    return tables.transaction().execute(async (within) => {
      const { rows } = await sql<{ got: boolean }>`select pg_try_advisory_xact_lock(6, 0) as got`.execute(within)
      if (!rows[0]?.got) return false
      await work(within)
      return true
    })
  },

  async databaseBytes(tables) {
    const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(tables)
    return rows[0]?.bytes ?? 0
  },
}
