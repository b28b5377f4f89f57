import type { AccountId, MessageId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { ApiLog, LogFilter, LogPageView } from '../../../core/ports/console/api-log.ts'
import type { Span } from '../engine.ts'
import { readingOf, type Store } from '../store.ts'
import { acceptedLogSource, type FoundEntry } from './accepted-log-source.ts'
import { type LogHalf, lookBack, type Scanned } from './backward-scan.ts'
import { type LogPosition, NEWEST, parseCursor, printCursor } from './cursor.ts'
import { placeBehind, type TimedHalf } from './find-time.ts'
import { mergeHalves } from './merge-sources.ts'
import { locateRequests, readsBodies, rejectedLogSource } from './rejected-log-source.ts'

// What one page looks through at most. So many take some 15 ms, and a million are looked through in as many seconds as a
// person would wait for.
const MOST_MESSAGES = 10_000
const MOST_REQUESTS = 10_000
// A body has some 300 bytes, but may have 64 KiB.
const MOST_BODIES = 2_500

type Half = LogHalf<FoundEntry> & TimedHalf
type Wanted = Parameters<ApiLog['readPage']>[1]

export async function readPage(store: Store, accountId: AccountId, wanted: Wanted): Promise<LogPageView> {
  const { filter, cursor, limit } = wanted
  const reading = readingOf(store)
  const spans = await store.engine.spans(store.database)
  const places = await placesOf(store, accountId, filter.id)
  const messages =
    hasMessages(filter) && places.messages?.length !== 0
      ? acceptedLogSource(store.database, accountId, { filter, only: places.messages })
      : null
  const requests =
    hasRequests(filter) && places.requests?.length !== 0
      ? rejectedLogSource(reading, accountId, { filter, only: places.requests })
      : null
  const start = cursor === null ? await firstPosition({ messages, requests }, spans, filter) : parseCursor(cursor)
  // One more than is shown, so that it is known whether there are more.
  const search = { spans, want: limit + 1, since: filter.since }
  const merged = mergeHalves(
    await look(messages, start.messages, { ...search, most: MOST_MESSAGES }),
    await look(requests, start.requests, { ...search, most: readsBodies(filter) ? MOST_BODIES : MOST_REQUESTS }),
    limit,
  )
  return {
    entries: merged.rows.map(({ sequence: _, ...entry }) => entry),
    next: printCursor(merged.position),
    scannedBackTo: merged.scannedBackTo,
  }
}

interface Places {
  readonly messages: readonly Sequence[] | null
  readonly requests: readonly Sequence[] | null
}

/**
 * Where those lie that an id may mean. Only accepted requests have no index by their own id: it would cost every
 * acceptance more than this question, which a person asks now and then. For them the whole log is looked through.
 */
async function placesOf(store: Store, accountId: AccountId, id: string | null): Promise<Places> {
  if (id === null) return { messages: null, requests: null }
  const message = await store.engine.locate(store.database, id as MessageId)
  const requests = await locateRequests(readingOf(store), accountId, id)
  if (message !== null) return { messages: [message], requests }
  return { messages: requests.length > 0 ? [] : null, requests }
}

function hasMessages({ view, result, statuses }: LogFilter): boolean {
  return (
    view !== 'rejected' && result !== 'refused' && (statuses === null || (statuses.from <= 200 && statuses.to >= 200))
  )
}

function hasRequests({ view, state, result, isOpen, reason }: LogFilter): boolean {
  if (isOpen || reason !== null || (result !== null && result !== 'refused' && result !== 'all')) return false
  return view !== 'attention' && view !== 'failed' && (view !== 'rejected' || state === null)
}

async function firstPosition(
  halves: { readonly messages: Half | null; readonly requests: Half | null },
  spans: readonly Span[],
  { until }: LogFilter,
): Promise<LogPosition> {
  if (until === null) return NEWEST
  return {
    messages: halves.messages && (await placeBehind(halves.messages, spans, until)),
    requests: halves.requests && (await placeBehind(halves.requests, spans, until)),
  }
}

function look(
  half: Half | null,
  before: Sequence | null,
  search: Omit<Parameters<typeof lookBack>[1], 'before'>,
): Promise<Scanned<FoundEntry>> | Scanned<FoundEntry> {
  if (!half || before === null) return { rows: [], position: null, at: null }
  return lookBack(half, { ...search, before })
}
