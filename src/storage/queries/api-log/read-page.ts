import type { Instant, MessageId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { LogFilter, LogPageView } from '../../../core/ports/console/api-log.ts'
import { Refusal } from '../../../core/refusals.ts'
import { exponentialRanges, type Range, type Span } from '../engine.ts'
import { lowerBoundByTime } from '../overview/lower-bound-by-time.ts'
import { readingOf, type Store } from '../store.ts'
import { acceptedLogSource } from './accepted-log-source.ts'
import type { FoundEntry, LogRow, LogSearch, LogSource } from './log-source.ts'
import { locateRequests, readsBodies, rejectedLogSource } from './rejected-log-source.ts'
import { textInBodies } from './request-body.ts'

// Most searches end among the newest rows, and counting rows costs about as much as reading them.
const FIRST_ROWS = 200
const GROWTH = 50
// A refused body may have 64 KiB, so a page of them takes at most 16 MiB.
const PAGE = 250
// A search by time still finds every row if the clock was set back by less than this.
const CLOCK_SLACK_MS = 60_000

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

export function toLogEntry(found: FoundEntry): LogPageView['entries'][number] {
  const { sequence: _, account: _account, countedAt: _counted, holdsText: _holds, ...entry } = found
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
    await scan(messages, page.from.messages, { ...wanted, most: textInBodies(filter) === null ? rows : bodies }),
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

/** The oldest row of each source that was read. Null: the source was read to its end. */
interface LogPosition {
  readonly messages: Sequence | null
  readonly requests: Sequence | null
}

const NEWEST: LogPosition = { messages: Number.MAX_SAFE_INTEGER, requests: Number.MAX_SAFE_INTEGER }

/** Null when both sources were read to their end. */
function printCursor({ messages, requests }: LogPosition): string | null {
  if (messages === null && requests === null) return null
  return Buffer.from(`${messages ?? ''}.${requests ?? ''}`).toString('base64url')
}

function parseCursor(text: string | null): LogPosition {
  if (text === null) return NEWEST
  const parts = /^(\d{0,16})\.(\d{0,16})$/.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (!parts) throw new Refusal('argument_invalid', 'This cursor is not valid. Read the API log again from the start.')
  return { messages: toSequence(parts[1]), requests: toSequence(parts[2]) }
}

function toSequence(digits = ''): Sequence | null {
  return digits === '' ? null : Math.min(Number(digits), Number.MAX_SAFE_INTEGER)
}

export interface TimedRow extends LogRow {
  readonly receivedAt: Instant
}

interface Merged<Row> {
  readonly rows: readonly Row[]
  readonly position: LogPosition
  readonly scannedBackTo: Instant | null
}

/**
 * Merges the two sources by the time of arrival, newest first. If two entries have the same time, the accepted request is the
 * older, because a repeat follows its original. The page stops where one source was not scanned as far back as the other:
 * an unscanned row may be newer than the next row of the other source. Each source is in the order in which its rows were
 * stored, so after a clock was set back some entries appear too early; none is left out.
 */
export function mergeSources<Row extends TimedRow>(
  messages: Scanned<Row>,
  requests: Scanned<Row>,
  limit: number,
): Merged<Row> {
  const rows: Row[] = []
  let [atMessage, atRequest] = [0, 0]
  let stoppedAt: Instant | null = null
  while (rows.length < limit) {
    const [message, request] = [messages.rows[atMessage], requests.rows[atRequest]]
    const isMessageNext = message && (!request || message.receivedAt > request.receivedAt)
    const next = isMessageNext ? message : request
    stoppedAt = unscannedFrom(message ? null : messages, request ? null : requests)
    if (!next || (stoppedAt !== null && next.receivedAt < stoppedAt)) break
    rows.push(next)
    if (isMessageNext) atMessage += 1
    else atRequest += 1
  }
  const position = { messages: nextPosition(messages, atMessage), requests: nextPosition(requests, atRequest) }
  const isAll = position.messages === null && position.requests === null
  const scannedBackTo = rows.length < limit ? stoppedAt : (rows.at(-1)?.receivedAt ?? null)
  return { rows, position, scannedBackTo: isAll ? null : scannedBackTo }
}

/** The later time at which a used-up source stopped scanning; null when no used-up source has older rows. */
function unscannedFrom(...usedUp: readonly (Scanned<unknown> | null)[]): Instant | null {
  const times = usedUp.flatMap((source) => (source && source.at !== null ? [source.at] : []))
  return times.length === 0 ? null : Math.max(...times)
}

function nextPosition<Row extends TimedRow>({ rows, position }: Scanned<Row>, at: number): Sequence | null {
  const next = rows[at]
  return next ? next.sequence + 1 : position
}

export interface Scanned<Row> {
  readonly rows: readonly Row[]
  /** Every row from this one on was scanned; null: all rows. */
  readonly position: Sequence | null
  /** The time of that row; null with a null position, or when the scan stopped because it had found enough rows. */
  readonly at: Instant | null
}

interface Search {
  readonly spans: readonly Span[]
  readonly before: Sequence
  /** How many rows to find, and how many to scan at most. */
  readonly want: number
  readonly most: number
  readonly since: Instant | null
}

/** Scans backwards from a position, until enough rows are found or enough were scanned. */
async function scanBackward<Row extends LogRow>(source: LogSource<Row>, search: Search): Promise<Scanned<Row>> {
  const { before, want, since } = search
  const found: Row[] = []
  let left = search.most
  let size = FIRST_ROWS
  for (const span of exponentialRanges(search.spans.filter(({ from }) => from < before))) {
    let end = Math.min(span.before, before)
    for (;;) {
      const most = Math.min(size, left)
      const { count, first } = await source.count({ from: span.from, before: end }, most)
      if (first === null) break
      for await (const row of fitting(source, { from: first, before: end, limit: Math.min(want, PAGE) })) {
        found.push(row)
        if (found.length >= want) return { rows: found, position: row.sequence, at: null }
      }
      left -= count
      end = first
      if (since !== null && (await source.timeOf(first)) < since - CLOCK_SLACK_MS) return all(found)
      if (left <= 0) return { rows: found, position: first, at: await source.timeOf(first) }
      if (count < most) break
      size *= GROWTH
    }
  }
  return all(found)
}

function all<Row>(rows: readonly Row[]): Scanned<Row> {
  return { rows, position: null, at: null }
}

async function* fitting<Row extends LogRow>(source: LogSource<Row>, range: Range): AsyncGenerator<Row> {
  let { before, limit } = range
  for (;;) {
    const rows = await source.read({ from: range.from, before, limit })
    for (const row of rows) if (source.fits(row)) yield row
    const last = rows.at(-1)
    // After a full page, the range may hold more.
    if (!last || rows.length < limit) return
    before = last.sequence
    limit = PAGE
  }
}
