import { type RawBuilder, sql } from 'kysely'

/** How many requests a row of `request` counts for: one, unless it sums up frequent refusals. */
export function requestsOfRow(): RawBuilder<number> {
  return sql<number>`coalesce(summed_requests, 1)`
}

/** The requests of all rows of a group, however they are kept. */
export function countRequests(): RawBuilder<number> {
  return sql<number>`sum(${requestsOfRow()})`
}
