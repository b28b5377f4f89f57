import type { AccountId, Instant } from '../../../core/ids.ts'
import { type ApiLog, type LogFilter, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import { totalsOf } from '../overview/hour-tally.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../overview/hours.ts'
import { readHours } from '../overview/read-bars.ts'
import { readRecent } from '../overview/recent.ts'
import type { Store } from '../store.ts'
import { barsOf, countRows } from './count-rows.ts'

const MOST_BARS = 60
const SECOND_MS = 1_000
const STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
]

// What viewers do not see has no influence on a count without other filters.
const COUNTED_BY_HOUR: ReadonlySet<string> = new Set(['since', 'until', 'isMasked'])

interface Search {
  readonly accountId: AccountId
  readonly filter: LogFilter
}

interface Times {
  readonly since: Instant
  readonly until: Instant
}

export async function countByTime(
  store: Store,
  { accountId, filter }: Search,
  offsetMinutes: number,
): ReturnType<ApiLog['countByTime']> {
  const now = store.now()
  const { since } = filter
  if (since === null) return null
  const times = { since, until: Math.max(since, filter.until ?? now) }
  const offsetMs = offsetMinutes * MINUTE_MS
  const ms = stepMs(times)
  const exact = await countRows(
    store,
    { accountId, filter: { ...filter, ...times, result: filter.result ?? 'all' } },
    { ms, offsetMs },
  )
  if (exact !== null) return withTotals(barsOf(exact, times, { ms, offsetMs }))
  if (!isOnlyTimes(filter)) return null
  const step = { ms: Math.max(HOUR_MS, ms), offsetMs }
  const hours = await readHours(
    store,
    { accountId, connectionId: null, ...times },
    await readRecent(store, accountId, now),
  )
  return withTotals(barsOf(hours, times, step))
}

function withTotals(counts: ReturnType<typeof barsOf>) {
  return { ...counts, totals: totalsOf(counts.bars) }
}

/** The shortest step that makes no more bars than fit on a screen. */
function stepMs({ since, until }: Times): number {
  const days = Math.ceil((until - since) / MOST_BARS / DAY_MS)
  return STEPS_MS.find((ms) => (until - since) / ms <= MOST_BARS) ?? days * DAY_MS
}

function isOnlyTimes(filter: LogFilter): boolean {
  return Object.entries(NO_FILTER).every(
    ([part, none]) => COUNTED_BY_HOUR.has(part) || filter[part as keyof LogFilter] === none,
  )
}
