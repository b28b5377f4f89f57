import { sql } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import { type ApiLog, type LogFilter, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import type { Tallies } from '../../../core/ports/console/overview.ts'
import type { Span } from '../engine.ts'
import { talliedAs } from '../overview/hour-tally.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../overview/hours.ts'
import { type LongTable, lowerBoundByTime } from '../overview/lower-bound-by-time.ts'
import { NONE, readHours } from '../overview/read-bars.ts'
import { readRecent } from '../overview/recent.ts'
import { readingOf, type Store } from '../store.ts'
import { acceptedLogSource } from './accepted-log-source.ts'
import type { LogSource, StepCount, TimeStep } from './log-source.ts'
import { readsBodies, rejectedLogSource } from './rejected-log-source.ts'
import { textInBodies } from './request-body.ts'

// Some ten milliseconds' worth.
const MOST_ROWS = 10_000
// A refused body may have 64 KiB.
const MOST_BODIES = 1_000
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
  if (exact !== null) return barsOf(exact.map(tallied), times, { ms, offsetMs })
  if (!isOnlyTimes(filter)) return null
  const step = { ms: Math.max(HOUR_MS, ms), offsetMs }
  const hours = await readHours(
    store,
    { accountId, connectionId: null, ...times },
    await readRecent(store, accountId, now),
  )
  return barsOf(hours, times, step)
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

interface Tallied {
  readonly at: Instant
  readonly state: keyof Tallies
  readonly count: number
}

function tallied({ at, state, count }: StepCount): Tallied {
  return { at, state: state === null ? 'refused' : talliedAs(state), count }
}

function barsOf(counted: readonly Tallied[], { since, until }: Times, { ms, offsetMs }: TimeStep) {
  const startOf = (at: Instant) => at - ((at + offsetMs) % ms)
  const bars = new Map<Instant, Record<keyof Tallies, number>>()
  for (let at = startOf(since); at <= until; at += ms) bars.set(at, { ...NONE })
  for (const { at, state, count } of counted) {
    const bar = bars.get(startOf(at))
    if (bar) bar[state] += count
  }
  return { barMs: ms, bars: [...bars].map(([at, bar]) => ({ at, ...bar })) }
}

/** Null where there are too many rows to read. */
async function countRows(store: Store, search: Search, step: TimeStep): Promise<readonly StepCount[] | null> {
  const messages = await acceptedLogSource(readingOf(store), search, null)
  const spanOfMessages = messages && (await spanOf(store, 'message', search.filter))
  const isInTexts = textInBodies(search.filter) !== null
  const mostMessages = isInTexts ? MOST_BODIES : MOST_ROWS
  if (spanOfMessages && (await hasMore(store, search, { table: 'message', span: spanOfMessages, most: mostMessages })))
    return null
  const requests = await rejectedLogSource(readingOf(store), search, null)
  const spanOfRequests = requests && (await spanOf(store, 'request', search.filter))
  const isInBodies = readsBodies(search.filter)
  const most = isInBodies ? MOST_BODIES : MOST_ROWS
  if (spanOfRequests && (await hasMore(store, search, { table: 'request', span: spanOfRequests, most }))) return null
  const counted =
    messages && spanOfMessages
      ? await (isInTexts ? countFitting(messages, spanOfMessages) : messages.countByStep(spanOfMessages, step))
      : []
  if (!requests || !spanOfRequests) return counted
  return [
    ...counted,
    ...(await (isInBodies ? countFitting(requests, spanOfRequests) : requests.countByStep(spanOfRequests, step))),
  ]
}

/** What stands in bodies: only `fits` reads their fields. */
async function countFitting(source: LogSource, span: Span): Promise<readonly StepCount[]> {
  const rows = await source.read({ ...span, limit: MOST_BODIES })
  return rows
    .filter((row) => source.fits(row))
    .map(({ countedAt: at, state, summed }) => ({ at, state, count: summed?.requests ?? 1 }))
}

/** Null: nothing is as late as the filter begins. */
async function spanOf(store: Store, table: LongTable, { since, until }: LogFilter): Promise<Span | null> {
  const first = await lowerBoundByTime(readingOf(store), table, since ?? 0)
  if (first === null) return null
  const end = await lowerBoundByTime(readingOf(store), table, (until ?? store.now()) + 1)
  return { from: first.sequence, before: end?.sequence ?? Number.MAX_SAFE_INTEGER }
}

async function hasMore(
  { database, engine }: Store,
  { accountId }: Search,
  { table, span, most }: { readonly table: LongTable; readonly span: Span; readonly most: number },
): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)}
    where ${engine.ofAccount(accountId, span)}
    order by account_id, sequence limit 1 offset ${most}`.execute(database)
  return rows.length > 0
}
