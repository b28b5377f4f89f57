import { type RawBuilder, sql } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { OverviewRange, Tallies, TallyBar, WantedOverview } from '../../../core/ports/console/overview.ts'
import { requestsOfRow } from '../api-log/count-requests.ts'
import { readingOf, type Store } from '../store.ts'
import { ALL_CONNECTIONS, talliedAs } from './hour-tally.ts'
import { DAY_MS, HOUR_MS, hourOf, MINUTE_MS } from './hours.ts'
import { type LongTable, lowerBoundByTime } from './lower-bound-by-time.ts'
import type { Recent } from './recent.ts'

const BAR_MS = 5 * MINUTE_MS
// Some milliseconds' worth. Where more came within the hour, the hours as they were counted must do.
const MOST_ROWS = 10_000

const LENGTH: Readonly<Record<OverviewRange, { readonly ms: number; readonly barMs: number }>> = {
  '1h': { ms: HOUR_MS, barMs: HOUR_MS },
  '24h': { ms: DAY_MS, barMs: HOUR_MS },
  '7d': { ms: 7 * DAY_MS, barMs: 6 * HOUR_MS },
  '30d': { ms: 30 * DAY_MS, barMs: DAY_MS },
}

interface Now {
  readonly now: Instant
  readonly recent: Recent | null
}

export async function readBars(store: Store, wanted: WantedOverview, { now, recent }: Now): Promise<Bars> {
  const live = wanted.range === '1h' ? await readLastHour(store, wanted, now) : null
  return live ?? readTallies(store, wanted, { now, recent })
}

async function readTallies(store: Store, wanted: WantedOverview, { now, recent }: Now): Promise<Bars> {
  const { ms, barMs } = LENGTH[wanted.range]
  // The last hour as it was counted: this one and the one before.
  const count = wanted.range === '1h' ? 2 : ms / barMs
  const starts = barStarts(wanted, { now, barMs, count })
  const from = starts[0] ?? now
  const bars = new Map<Instant, Record<keyof Tallies, number>>()
  for (const at of starts) bars.set(at, { ...NONE })
  const { accountId, connectionId } = wanted
  for (const { at: hour, state, count } of await readHours(
    store,
    { accountId, connectionId, since: from, until: now },
    recent,
  )) {
    const bar = bars.get(starts.findLast((at) => at <= hour) ?? 0)
    if (bar) bar[state] += count
  }
  const counted = await readCounted(store, { accountId: wanted.accountId, from, now, recent })
  return { from, barMs, bars: [...bars].map(([at, bar]) => ({ at, ...bar })), ...counted }
}

interface HoursBetween extends Pick<WantedOverview, 'accountId' | 'connectionId'> {
  readonly since: Instant
  readonly until: Instant
}

/** What was counted of the hours that began between these times, and of the last two hours what is so now. */
export async function readHours(store: Store, wanted: HoursBetween, recent: Recent | null) {
  const rows = await store.database
    .selectFrom('tally')
    .select(['hour as at', 'state', 'count'])
    .where('account_id', '=', wanted.accountId)
    .where('connection_id', '=', wanted.connectionId ?? ALL_CONNECTIONS)
    .where('hour', '>=', wanted.since)
    .where('hour', '<=', wanted.until)
    .where('hour', '<', recent?.from ?? Number.MAX_SAFE_INTEGER)
    .execute()
  return [...rows, ...(recent ? talliesOf(recent, wanted) : [])]
}

function talliesOf({ messages, refused }: Recent, { connectionId }: Pick<WantedOverview, 'connectionId'>) {
  const isOf = (of: ConnectionId) => connectionId === null || of === connectionId
  return [
    ...messages
      .filter((message) => isOf(message.connectionId))
      .map(({ at, state }) => ({ at: hourOf(at), state: talliedAs(state), count: 1 })),
    ...(connectionId === null ? refused : []).map(({ at, requests }) => ({
      ...{ at: hourOf(at), state: 'refused' as const, count: requests },
    })),
  ]
}

export async function readCounted(
  { database }: Store,
  { accountId, from, now, recent }: Now & { readonly accountId: AccountId; readonly from: Instant },
): Promise<Pick<Bars, 'countedAt' | 'isComplete'>> {
  const account = await database
    .selectFrom('account')
    .select('created_at')
    .where('id', '=', accountId)
    .executeTakeFirst()
  const first = Math.max(hourOf(from), hourOf(account?.created_at ?? now))
  // What was read just now need not have been counted.
  const end = recent?.from ?? hourOf(now) + HOUR_MS
  const row = await database
    .selectFrom('tally_hour')
    .select(({ fn }) => [fn.countAll<number>().as('hours'), fn.max('counted_at').as('at')])
    .where('hour', '>=', first)
    .where('hour', '<', end)
    .executeTakeFirst()
  const expected = (end - first) / HOUR_MS
  return { countedAt: recent ? now : (row?.at ?? null), isComplete: (row?.hours ?? 0) >= expected }
}

export function totalsOf(bars: readonly Tallies[]): Tallies & { readonly accepted: number } {
  const totals: Record<keyof Tallies, number> = { ...NONE }
  for (const bar of bars) for (const state of Object.keys(NONE) as (keyof Tallies)[]) totals[state] += bar[state]
  const { published, waiting, failed, unconfirmed, expired, cancelled } = totals
  return { ...totals, accepted: published + waiting + failed + unconfirmed + expired + cancelled }
}

type Reader = Pick<WantedOverview, 'timeZone' | 'offsetMinutes'>

/** When the bars begin, oldest first: the last `count` up to now, whole hours or days by the reader's clock. */
function barStarts(reader: Reader, { now, barMs, count }: { now: Instant; barMs: number; count: number }) {
  const offsetAt = offsetOf(reader)
  const starts: Instant[] = []
  for (let at = now; starts.length < count; at = (starts[0] ?? at) - 1) starts.unshift(startOf(at, barMs, offsetAt))
  return starts
}

function startOf(at: Instant, barMs: number, offsetAt: (at: Instant) => number): Instant {
  const offset = offsetAt(at)
  const start = at - ((((at + offset) % barMs) + barMs) % barMs)
  // The clocks may have been set in between: at its beginning they stood otherwise.
  return Math.min(at, start + offset - offsetAt(start))
}

/**
 * The offset of the reader's time zone from UTC. Tallies are by the hour of UTC, so in a zone with an offset of half an hour
 * bars begin at the nearest hour. For a zone that this machine does not know, today's offset applies to all times.
 */
function offsetOf({ timeZone, offsetMinutes }: Reader): (at: Instant) => number {
  const inHours = (minutes: number) => Math.floor(minutes / 60) * HOUR_MS
  const clock = clockOf(timeZone)
  if (clock === null) return () => inHours(offsetMinutes)
  return (at) => {
    const part = (type: string) => Number(parts.find((one) => one.type === type)?.value)
    const parts = clock.formatToParts(at)
    const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'))
    return inHours(Math.round((shown - (at - (at % MINUTE_MS))) / MINUTE_MS))
  }
}

function clockOf(timeZone: string | null): Intl.DateTimeFormat | null {
  if (timeZone === null) return null
  try {
    const digits = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const
    return new Intl.DateTimeFormat('en-GB', { timeZone, ...digits, hourCycle: 'h23' })
  } catch {
    return null
  }
}

export const NONE: Tallies = {
  published: 0,
  waiting: 0,
  failed: 0,
  unconfirmed: 0,
  expired: 0,
  cancelled: 0,
  refused: 0,
}

export interface Bars {
  readonly from: Instant
  readonly barMs: number
  readonly bars: readonly TallyBar[]
  /** Null: nothing of it was counted yet. */
  readonly countedAt: Instant | null
  readonly isComplete: boolean
}

/** The last sixty minutes in steps of five, by the current states; null where there are too many rows to read. */
async function readLastHour(store: Store, wanted: WantedOverview, now: Instant): Promise<Bars | null> {
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
