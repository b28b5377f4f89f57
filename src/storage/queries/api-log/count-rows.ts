import { sql } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import type { Tallies } from '../../../core/ports/console/overview.ts'
import type { Span } from '../engine.ts'
import { NONE, talliedAs } from '../overview/hour-tally.ts'
import { type LongTable, lowerBoundByTime } from '../overview/lower-bound-by-time.ts'
import { readingOf, type Store } from '../store.ts'
import { acceptedLogSource } from './accepted-log-source.ts'
import type { LogSource, StepCount, TimeStep } from './log-source.ts'
import { readsBodies, rejectedLogSource } from './rejected-log-source.ts'
import { textInBodies } from './request-body.ts'

// Some ten milliseconds' worth.
const MOST_ROWS = 10_000
// A refused body may have 64 KiB.
const MOST_BODIES = 1_000

interface Search {
  readonly accountId: AccountId
  /** Only messages of this connection. */
  readonly connectionId?: ConnectionId | null
  readonly filter: LogFilter
}

interface Tallied {
  readonly at: Instant
  readonly state: keyof Tallies
  readonly count: number
}

/** Counts the rows of each step of time that has any. Null if there are too many rows to read. */
export async function countRows(store: Store, search: Search, step: TimeStep): Promise<readonly Tallied[] | null> {
  const { filter } = search
  const reading = readingOf(store)
  const parts = [
    {
      table: 'message',
      source: await acceptedLogSource(reading, search, null),
      isInTexts: textInBodies(filter) !== null,
    },
    { table: 'request', source: await rejectedLogSource(reading, search, null), isInTexts: readsBodies(filter) },
  ] as const
  const counted: StepCount[] = []
  for (const { table, source, isInTexts } of parts) {
    const span = source && (await spanOf(store, table, filter))
    if (!source || !span) continue
    if (await hasMore(store, search, { table, span, most: isInTexts ? MOST_BODIES : MOST_ROWS })) return null
    counted.push(...(await (isInTexts ? countFitting(source, span) : source.countByStep(span, step))))
  }
  return counted.map(({ at, state, count }) => ({ at, state: state === null ? 'refused' : talliedAs(state), count }))
}

/** Between two times, with those in which there is nothing. */
export function barsOf(
  counted: readonly Tallied[],
  { since, until }: { readonly since: Instant; readonly until: Instant },
  { ms, offsetMs }: TimeStep,
) {
  const startOf = (at: Instant) => at - ((at + offsetMs) % ms)
  const bars = new Map<Instant, Record<keyof Tallies, number>>()
  for (let at = startOf(since); at <= until; at += ms) bars.set(at, { ...NONE })
  for (const { at, state, count } of counted) {
    const bar = bars.get(startOf(at))
    if (bar) bar[state] += count
  }
  return { barMs: ms, bars: [...bars].map(([at, bar]) => ({ at, ...bar })) }
}

/** What stands in bodies: only `fits` reads their fields. */
async function countFitting(source: LogSource, span: Span): Promise<readonly StepCount[]> {
  const rows = await source.read({ ...span, limit: MOST_BODIES })
  return rows
    .filter((row) => source.fits(row))
    .map(({ countedAt: at, state, summed }) => ({ at, state, count: summed?.requests ?? 1 }))
}

/** Null: no row is as late as the begin of the filter. */
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
