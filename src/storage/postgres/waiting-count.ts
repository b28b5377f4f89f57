import type { Ask } from './link.ts'

/** Up to here the count is exact. It keeps a core busy for 10 to 25 ms; five times as many held up all who accept beside it. */
export const COUNTED_UP_TO = 20_000

/**
 * How many messages wait in all lanes: exact while they are few, then as the server estimates, which has forgotten it after a
 * crash; so at least {@link COUNTED_UP_TO}.
 */
export async function countWaiting(ask: Ask): Promise<number> {
  const [row] = await ask(
    `select counted, case when counted < $1::bigint then counted else greatest(counted, (
         select greatest(coalesce(n_live_tup, 0), $1::bigint) from pg_stat_user_tables where relid = 'queued'::regclass)) end as waiting
       from (select count(*) as counted from (select 1 from queued limit $1::bigint) few) c`,
    [COUNTED_UP_TO],
  )
  return (row?.['waiting'] as number | undefined) ?? 0
}
