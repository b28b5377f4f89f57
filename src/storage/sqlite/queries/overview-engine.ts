import { sql } from 'kysely'
import type { NotEntered, OverviewEngine } from '../../queries/overview/overview-engine.ts'

export const sqliteOverviewEngine: OverviewEngine = {
  // In this order, as `cross join` has it: the entries of one lane lie beside each other.
  enteredOfC: sql`lane_entry e cross join message q on q.sequence = e.sequence
    where e.connection_id = c.id and q.state = 'QUEUED'`,

  async findNotEntered(tables, accountId) {
    const { rows } = await sql<NotEntered>`
      select connection_id as "connectionId", count(*) as count, min(accepted_at) as "oldestAt",
          min(sequence) as head from message
        where sequence > (select sequence from indexed_through) and state = 'QUEUED' and account_id = ${accountId}
        group by connection_id`.execute(tables)
    return rows
  },

  async countWaiting(tables, accountId, most) {
    const entered = sql`select 1 from connection c cross join lane_entry e cross join message q
      where c.account_id = ${accountId} and e.connection_id = c.id and q.sequence = e.sequence and q.state = 'QUEUED'`
    const newest = sql`select 1 from message where sequence > (select sequence from indexed_through)
      and account_id = ${accountId} and state = 'QUEUED'`
    const { rows } = await sql<{ count: number }>`select count(*) as count
      from (select * from (${entered}) union all select * from (${newest}) limit ${most})`.execute(tables)
    return rows[0]?.count ?? 0
  },

  // The service is alone on its file (service-lock.ts), and there is one counter in it.
  async runAlone(tables, work) {
    await work(tables)
    return true
  },

  async databaseBytes(tables) {
    const { rows } = await sql<{ bytes: number }>`select c.page_count * s.page_size as bytes
      from pragma_page_count c cross join pragma_page_size s`.execute(tables)
    return rows[0]?.bytes ?? 0
  },
}
