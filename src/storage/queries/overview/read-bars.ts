import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { OverviewRange, Tallies, WantedOverview } from '../../../core/ports/console/overview.ts'
import type { Store } from '../store.ts'
import { barStarts } from './bar-starts.ts'
import { type Bars, NONE } from './bars.ts'
import { ALL_CONNECTIONS, talliedAs } from './hour-tally.ts'
import { DAY_MS, HOUR_MS, hourOf } from './hours.ts'
import { readLastHour } from './last-hour.ts'
import type { Recent } from './recent.ts'

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
