import type { AccountId } from '../../../core/ids.ts'
import { bigintArray, textArray } from '../connection/binary-arrays.ts'
import type { Query } from '../connection/pg-connection.ts'

/** Up to here the count is exact. It keeps a core busy for 10 to 25 ms; five times as many held up all who accept beside it. */
export const COUNTED_UP_TO = 20_000

/**
 * How many messages wait in all lanes: exact while they are few, then as the server estimates, which has forgotten it after a
 * crash; so at least {@link COUNTED_UP_TO}.
 */
export async function countWaiting(ask: Query): Promise<number> {
  const [row] = await ask(
    `select counted, case when counted < $1::bigint then counted else greatest(counted, (
         select greatest(coalesce(n_live_tup, 0), $1::bigint) from pg_stat_user_tables where relid = 'queued'::regclass)) end as waiting
       from (select count(*) as counted from (select 1 from queued limit $1::bigint) few) c`,
    [COUNTED_UP_TO],
  )
  return (row?.['waiting'] as number | undefined) ?? 0
}

/** A lane, or a whole account where `number` is null, to be counted from a place on. */
export interface CountStep {
  readonly accountId: AccountId
  readonly number: string | null
  readonly after: number
  /** Up to how many it is worth counting. */
  readonly limit: number
}

export interface CountPart {
  readonly count: number
  /** Where to go on; null when there is no more to count. */
  readonly after: number | null
}

/** Counts as much of them as the server can in that time, or a little more; one after the other, so the last may wait. */
export async function countOn(ask: Query, steps: readonly CountStep[], withinMs: number): Promise<CountPart[]> {
  const [row] = await ask('select count_waiting($1, $2, $3, $4, $5) as counts', [
    textArray(steps.map(({ accountId }) => accountId)),
    textArray(steps.map(({ number }) => number)),
    bigintArray(steps.map(({ after }) => after)),
    bigintArray(steps.map(({ limit }) => limit)),
    withinMs,
  ])
  return String(row?.['counts']).split(',').map(toPart)
}

function toPart(text: string): CountPart {
  const [count, after] = text.split(' ')
  return { count: Number(count), after: after === undefined ? null : Number(after) }
}
