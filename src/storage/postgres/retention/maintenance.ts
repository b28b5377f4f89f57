import { IDEMPOTENCY_KEPT_MS } from '../../../core/message/idempotency.ts'
import type { Query } from '../connection/pg-connection.ts'

const SWEPT_AT_ONCE = 2_000
// Time enough for a person to see in `nuncio workers` who is gone.
const DEAD_WORKERS_KEPT_MS = 3_600_000
// One that was suspended comes back by the name it had, and would miss what it was told to be committed.
const COUNTS_KEPT_MS = 7 * 24 * 3_600_000

/**
 * What somebody must do now and then; it does no harm when several do it at once. The next period is opened here too:
 * as long as nobody does, messages fall into the one before.
 */
export async function runMaintenance(ask: Query): Promise<void> {
  await ask('select open_period()')
  while ((await sweepKeys(ask)) === SWEPT_AT_ONCE) {
    // Each batch is a transaction of its own.
  }
  await ask(
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
 * Forgets idempotency keys whose time is over. The time is asked for once, and rows are named by their place: otherwise
 * the whole table would be read for it.
 */
async function sweepKeys(ask: Query): Promise<number> {
  const rows = await ask(
    `delete from idempotency where ctid = any (array(
       select ctid from idempotency where accepted_at < (select now_ms()) - $1::bigint
         order by accepted_at limit $2 for update skip locked))
     returning 1`,
    [IDEMPOTENCY_KEPT_MS, SWEPT_AT_ONCE],
  )
  return rows.length
}
