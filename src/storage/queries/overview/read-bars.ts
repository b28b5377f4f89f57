import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import { type LogFilter, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import type { OverviewRange, Tallies, TallyBar, WantedOverview } from '../../../core/ports/console/overview.ts'
import { barsOf, countRows } from '../api-log/count-rows.ts'
import type { Store } from '../store.ts'
import { ALL_CONNECTIONS, NONE, talliedAs } from './hour-tally.ts'
import { DAY_MS, HOUR_MS, hourOf, MINUTE_MS } from './hours.ts'
import type { Recent } from './recent.ts'

const BAR_MS = 5 * MINUTE_MS

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

/** The stored counts of the hours that began between these times, and the current figures of the last two hours. */
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
  // Hours that were read just now need no stored count.
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
  // If the clocks were changed in between, the offset at its beginning was another one.
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

export interface Bars {
  readonly from: Instant
  readonly barMs: number
  readonly bars: readonly TallyBar[]
  /** Null: nothing of it was counted yet. */
  readonly countedAt: Instant | null
  readonly isComplete: boolean
}

/** The last sixty minutes in steps of five, by the current states; null where there are too many rows to read. */
async function readLastHour(
  store: Store,
  { accountId, connectionId }: WantedOverview,
  now: Instant,
): Promise<Bars | null> {
  const times = { since: now - (now % BAR_MS) - HOUR_MS + BAR_MS, until: now }
  const step = { ms: BAR_MS, offsetMs: 0 }
  const filter: LogFilter = { ...NO_FILTER, ...times, result: 'all' }
  const counted = await countRows(store, { accountId, connectionId, filter }, step)
  return counted && { from: times.since, ...barsOf(counted, times, step), countedAt: now, isComplete: true }
}
