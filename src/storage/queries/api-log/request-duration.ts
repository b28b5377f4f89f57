import { sql } from 'kysely'
import type { Span } from '../engine.ts'

// More than one commit has ever had.
const LONGEST_COMMIT = 1_000_000

/**
 * How long the commit took that the message `m` of an outer query was accepted in. Null while its row is not written:
 * that happens with the next commit. Where `m` lies is said too, so that commits of other days need not be looked at.
 */
export function commitUsOfM({ from, before }: Span) {
  return sql<number | null>`(select case when k.first_sequence <= m.sequence then k.took_us end
    from accept_commit k where k.last_sequence >= m.sequence
      and k.last_sequence >= ${from} and k.last_sequence < ${before + LONGEST_COMMIT} order by k.last_sequence limit 1)`
}

/** From the arrival of an accepted request until its commit was safe. Null while nobody knows all of it. */
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
