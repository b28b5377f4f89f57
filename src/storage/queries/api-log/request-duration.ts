import { sql } from 'kysely'
import type { Span } from '../engine.ts'

// More rows than one commit ever holds.
const LONGEST_COMMIT = 1_000_000

/**
 * How long the commit took in which the message `m` of an outer query was accepted. Null until the next commit, which
 * writes the row of this one. The span of `m` limits the search to the commits of its time.
 */
export function commitUsOfM({ from, before }: Span) {
  return sql<number | null>`(select case when k.first_sequence <= m.sequence then k.took_us end
    from accept_commit k where k.last_sequence >= m.sequence
      and k.last_sequence >= ${from} and k.last_sequence < ${before + LONGEST_COMMIT} order by k.last_sequence limit 1)`
}

/** From the arrival of an accepted request until its commit was durable. Null until both parts are known. */
export function acceptanceTookMs(row: {
  readonly took_us: number | null
  readonly commit_us: number | null
}): number | null {
  return row.took_us === null || row.commit_us === null ? null : toMs(row.took_us + row.commit_us)
}

/** To a tenth of a millisecond. */
export function toMs(us: number): number {
  return Math.round(us / 100) / 10
}
