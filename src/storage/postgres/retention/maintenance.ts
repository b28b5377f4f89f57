import { IDEMPOTENCY_KEPT_MS } from '../../../core/message/idempotency.ts'
import type { Query } from '../connection/pg-connection.ts'

const SWEPT_AT_ONCE = 2_000
// Long enough for a person to see the dead worker in `nuncio workers`.
const DEAD_WORKERS_KEPT_MS = 3_600_000
// A suspended worker may return under the same name, and checks that its confirmed commits are there.
const COUNTS_KEPT_MS = 7 * 24 * 3_600_000

/**
 * Periodic maintenance; several processes may run it at once. It also opens the next period: until then messages go into
 * the one before.
 */
export async function runMaintenance(query: Query): Promise<void> {
  await query('select open_period()')
  while ((await sweepKeys(query)) === SWEPT_AT_ONCE) {
    // Each batch is a transaction of its own.
  }
  await query(
    `with gone as (
       delete from worker w where heartbeat_until < now_ms() - $1::bigint
         and not exists (select from lane l where l.owner = w.id)
         and not exists (select from media m where m.fetcher = w.id and m.state = 'pending')
       returning id)
     delete from fence p where p.at < now_ms() - $2::bigint and not exists (select from worker w where w.id = p.worker)`,
    [DEAD_WORKERS_KEPT_MS, COUNTS_KEPT_MS],
  )
}

/**
 * Deletes expired idempotency keys. Reads the time once and names rows by ctid. Otherwise PostgreSQL would scan the whole
 * table.
 */
async function sweepKeys(query: Query): Promise<number> {
  const rows = await query(
    `delete from idempotency where ctid = any (array(
       select ctid from idempotency where accepted_at < (select now_ms()) - $1::bigint
         order by accepted_at limit $2 for update skip locked))
     returning 1`,
    [IDEMPOTENCY_KEPT_MS, SWEPT_AT_ONCE],
  )
  return rows.length
}
