import { sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { Span } from '../engine.ts'
import type { Reader, Reading } from '../store.ts'

// Among a million of rows these take 10 ms on SQLite and 30 ms on PostgreSQL, on a small machine. More would be exact
// for busier accounts, but who waits for a page notices 50 ms.
const MOST_ROWS = 10_000
// One for each day, on the engine that has several.
const MOST_SPANS = 32

/** The newest rows of a table. */
export interface Recent extends Span {
  /** Nothing from then on is missing: what was asked for, or later when there are more rows than are looked at. */
  readonly completeFrom: Instant
}

type LongTable = 'message' | 'request'

export async function recentRows({ tables, engine }: Reading, table: LongTable, since: Instant): Promise<Recent> {
  const spans = (await engine.spans(tables)).slice(0, MOST_SPANS)
  const all: Span = { from: spans.at(-1)?.from ?? 0, before: spans[0]?.before ?? 0 }
  const newest = await edge(tables, table, { ...all, order: 'desc' })
  if (!newest) return { from: 0, before: 0, completeFrom: since }
  const before = newest.sequence + 1
  const from = await engine.startOfStretch(tables, { table, span: { from: all.from, before }, rows: MOST_ROWS })
  const oldest = await edge(tables, table, { from, before, order: 'asc' })
  const isAll = from <= all.from || !oldest || oldest.at < since
  // Others of the same millisecond may lie behind the oldest one.
  return { from, before, completeFrom: isAll ? since : oldest.at + 1 }
}

function edge(tables: Reader, table: LongTable, span: Span & { readonly order: 'asc' | 'desc' }) {
  const time = sql.ref(table === 'message' ? 'accepted_at' : 'received_at')
  return tables
    .selectFrom(table)
    .select(['sequence', sql<Instant>`${time}`.as('at')])
    .where('sequence', '>=', span.from)
    .where('sequence', '<', span.before)
    .orderBy('sequence', span.order)
    .limit(1)
    .executeTakeFirst()
}
