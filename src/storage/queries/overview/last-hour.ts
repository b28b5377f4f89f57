import { type RawBuilder, sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { Tallies, WantedOverview } from '../../../core/ports/console/overview.ts'
import { requestsOfRow } from '../api-log/count-requests.ts'
import { readingOf, type Store } from '../store.ts'
import { type Bars, NONE } from './bars.ts'
import { talliedAs } from './hour-tally.ts'
import { HOUR_MS, MINUTE_MS } from './hours.ts'
import { type LongTable, lowerBoundByTime } from './lower-bound-by-time.ts'

const BAR_MS = 5 * MINUTE_MS
// Some milliseconds' worth. Where more came within the hour, the hours as they were counted must do.
const MOST_ROWS = 10_000

/** The last sixty minutes in steps of five, by the current states; null where there are too many rows to read. */
export async function readLastHour(store: Store, wanted: WantedOverview, now: Instant): Promise<Bars | null> {
  const from = now - (now % BAR_MS) - HOUR_MS + BAR_MS
  const bars = new Map<Instant, Record<keyof Tallies, number>>()
  for (let at = from; at <= now; at += BAR_MS) bars.set(at, { ...NONE })
  const messages = await countNewest(store, { table: 'message', wanted, from })
  const refused = wanted.connectionId === null ? await countNewest(store, { table: 'request', wanted, from }) : []
  if (messages === null || refused === null) return null
  for (const { at, state, count } of messages) {
    const bar = bars.get(at)
    if (bar && state !== null) bar[talliedAs(state)] += count
  }
  for (const { at, count } of refused) {
    const bar = bars.get(at)
    if (bar) bar.refused += count
  }
  const shown = [...bars].map(([at, bar]) => ({ at, ...bar }))
  return { from, barMs: BAR_MS, bars: shown, countedAt: now, isComplete: true }
}

interface Newest {
  readonly table: LongTable
  readonly wanted: WantedOverview
  readonly from: Instant
}

interface Counted {
  readonly at: Instant
  readonly state: Parameters<typeof talliedAs>[0] | null
  readonly count: number
}

async function countNewest(store: Store, { table, wanted, from }: Newest): Promise<readonly Counted[] | null> {
  const reading = readingOf(store)
  const first = await lowerBoundByTime(reading, table, from)
  if (first === null) return []
  const start = first.sequence
  const { rows: further } = await sql`select 1 from ${sql.table(table)} where sequence >= ${start}
    order by sequence limit 1 offset ${MOST_ROWS}`.execute(store.database)
  if (further.length > 0) return null
  const at = table === 'message' ? sql.ref('accepted_at') : sql.ref('received_at')
  const bar = sql<Instant>`${at} - ${at} % ${sql.lit(BAR_MS)}`
  const isWanted: RawBuilder<unknown> =
    table === 'request'
      ? sql`message_id is null`
      : wanted.connectionId === null
        ? sql`1 = 1`
        : sql`connection_id = ${wanted.connectionId}`
  const state = table === 'message' ? sql.ref('state') : sql`null`
  const requests = table === 'message' ? sql`1` : requestsOfRow()
  const { rows } = await sql<Counted>`select at, state, sum(requests) as count
    from (select ${bar} as at, ${state} as state, ${requests} as requests from ${sql.table(table)}
      where sequence >= ${start} and account_id = ${wanted.accountId} and ${at} >= ${from} and ${isWanted}) newest
    group by at, state`.execute(store.database)
  return rows
}
