import { sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Span } from '../engine.ts'
import type { Reading } from '../store.ts'

export type LongTable = 'message' | 'request'

interface DatedRow {
  readonly sequence: Sequence
  readonly at: Instant
}

/**
 * The first row of this time or later; null: there is none. Both tables number their rows in the order in which they came,
 * so a binary search of some forty queries finds it without an index by time. Where a clock was set back, the orders of
 * numbers and times differ, and the search finds a row close by.
 */
export async function lowerBoundByTime(
  { tables, engine }: Reading,
  table: LongTable,
  time: Instant,
): Promise<DatedRow | null> {
  let found: DatedRow | null = null
  for (const span of await engine.spans(tables)) {
    const first = await edgeOf({ tables, engine }, table, { span, newest: false })
    if (first === null) continue
    if (first.at >= time) {
      found = first
      continue
    }
    return (await searchIn({ tables, engine }, table, { span, time, first })) ?? found
  }
  return found
}

interface Search {
  readonly span: Span
  readonly time: Instant
  /** Known to be earlier. */
  readonly first: DatedRow
}

async function searchIn(reading: Reading, table: LongTable, { span, time, first }: Search): Promise<DatedRow | null> {
  const last = await edgeOf(reading, table, { span, newest: true })
  if (last === null || last.at < time) return null
  let [before, end, found] = [first.sequence, last.sequence, last]
  // Earlier: all up to `before`. Not earlier: `found`, the first row from `end` on.
  while (end - before > 1) {
    const middle = before + Math.floor((end - before) / 2)
    const row = await edgeOf(reading, table, { span: { from: middle, before: end }, newest: false })
    if (row !== null && row.at < time) {
      before = row.sequence
    } else {
      end = middle
      found = row ?? found
    }
  }
  return found
}

/** The oldest or newest row of a span; null: it is empty. */
export async function edgeOf(
  { tables }: Reading,
  table: LongTable,
  { span, newest }: { readonly span: Span; readonly newest: boolean },
): Promise<DatedRow | null> {
  const row = await tables
    .selectFrom(table)
    .select(['sequence', sql<Instant>`${sql.ref(table === 'message' ? 'accepted_at' : 'received_at')}`.as('at')])
    .where('sequence', '>=', span.from)
    .where('sequence', '<', span.before)
    .orderBy('sequence', newest ? 'desc' : 'asc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}
