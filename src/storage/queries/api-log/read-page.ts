import type { MessageId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { LogFilter, LogPageView } from '../../../core/ports/console/api-log.ts'
import type { Span } from '../engine.ts'
import { lowerBoundByTime } from '../overview/lower-bound-by-time.ts'
import { readingOf, type Store } from '../store.ts'
import { acceptedLogSource } from './accepted-log-source.ts'
import { CLOCK_SLACK_MS, type Scanned, scanBackward } from './backward-scan.ts'
import { type LogPosition, NEWEST, parseCursor, printCursor } from './cursor.ts'
import type { FoundEntry, LogSearch, LogSource } from './log-source.ts'
import { type Merged, mergeSources } from './merge-sources.ts'
import { locateRequests, readsBodies, rejectedLogSource } from './rejected-log-source.ts'

/** How many rows one page scans at most in each source; fewer where it must search bodies. */
interface ScanLimits {
  readonly rows: number
  readonly bodies: number
}

// 10,000 rows take some 15 ms, and a million take about as many seconds as a person waits. A body has some 300 bytes,
// but may have 64 KiB.
const ON_A_PAGE: ScanLimits = { rows: 10_000, bodies: 2_500 }
// A reader of the whole log waits for the next match anyway. The limit keeps each statement short, because a long
// transaction keeps the engine from cleaning up.
const IN_A_LIST: ScanLimits = { rows: 100_000, bodies: 25_000 }
const LIST_PAGE = 1_000

export async function readPage(
  store: Store,
  search: LogSearch,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
): Promise<LogPageView> {
  const from = cursor === null ? await firstPosition(store, search.filter) : parseCursor(cursor)
  const { rows, position, scannedBackTo } = await readMerged(store, search, { from, limit, most: ON_A_PAGE })
  return { entries: rows.map(toLogEntry), next: printCursor(position), scannedBackTo }
}

/** All entries that match, newest first, as of the first read. No transaction stays open between two pages. */
export async function* readAll(store: Store, search: LogSearch, limit: number): AsyncGenerator<FoundEntry> {
  let from = NEWEST
  let left = limit
  while (left > 0 && (from.messages !== null || from.requests !== null)) {
    const page = await readMerged(store, search, { from, limit: Math.min(left, LIST_PAGE), most: IN_A_LIST })
    yield* page.rows
    left -= page.rows.length
    from = page.position
  }
}

export function toLogEntry({ sequence: _, account: _account, ...entry }: FoundEntry): LogPageView['entries'][number] {
  return entry
}

async function readMerged(
  store: Store,
  search: LogSearch,
  page: { readonly from: LogPosition; readonly limit: number; readonly most: ScanLimits },
): Promise<Merged<FoundEntry>> {
  const { filter } = search
  const reading = readingOf(store)
  const only = await locate(store, search)
  const messages = await acceptedLogSource(reading, search, only.messages)
  const requests = await rejectedLogSource(reading, search, only.requests)
  // One more than the limit shows whether there are more.
  const wanted = { spans: await store.engine.spans(store.database), want: page.limit + 1, since: filter.since }
  const { rows, bodies } = page.most
  return mergeSources(
    await scan(messages, page.from.messages, { ...wanted, most: rows }),
    await scan(requests, page.from.requests, { ...wanted, most: readsBodies(filter) ? bodies : rows }),
    page.limit,
  )
}

interface Located {
  readonly messages: readonly Sequence[] | null
  readonly requests: readonly Sequence[] | null
}

/**
 * The rows that an id may mean. Accepted requests alone have no index by their own id: it would cost every acceptance more
 * than this rare question. For them the whole log is scanned.
 */
async function locate(store: Store, { accountId, filter: { id } }: LogSearch): Promise<Located> {
  if (id === null) return { messages: null, requests: null }
  const message = await store.engine.locate(store.database, id as MessageId)
  const requests = await locateRequests(readingOf(store), accountId, id)
  if (message !== null) return { messages: [message], requests }
  return { messages: requests.length > 0 ? [] : null, requests }
}

/** Behind everything that came up to the time of the filter. */
async function firstPosition(store: Store, { until }: LogFilter): Promise<LogPosition> {
  if (until === null) return NEWEST
  const after = async (table: 'message' | 'request') =>
    (await lowerBoundByTime(readingOf(store), table, until + CLOCK_SLACK_MS + 1))?.sequence ?? Number.MAX_SAFE_INTEGER
  return { messages: await after('message'), requests: await after('request') }
}

function scan(
  source: LogSource | null,
  before: Sequence | null,
  search: {
    readonly spans: readonly Span[]
    readonly want: number
    readonly most: number
    readonly since: number | null
  },
): Promise<Scanned<FoundEntry>> | Scanned<FoundEntry> {
  if (!source || before === null) return { rows: [], position: null, at: null }
  return scanBackward(source, { ...search, before })
}
