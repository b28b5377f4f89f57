import { sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Span } from '../engine.ts'
import type { Reading } from '../store.ts'

export type LongTable = 'message' | 'request'

export interface Moment {
  readonly sequence: Sequence
  readonly at: Instant
}

/**
 * The first row that is of this moment or later; null: there is none. Both tables are numbered in the
 * order in which their rows came, so some forty looks find it among any number of rows, without an index by time. Where
 * a clock was set back the order of numbers and that of times differ, and some row close by is found.
 */
export async function lowerBoundByTime(
  { tables, engine }: Reading,
  table: LongTable,
  moment: Instant,
): Promise<Moment | null> {
  let found: Moment | null = null
  for (const span of await engine.spans(tables)) {
    const first = await edgeOf({ tables, engine }, table, { span, newest: false })
    if (first === null) continue
    if (first.at >= moment) {
      found = first
      continue
    }
    return (await searchIn({ tables, engine }, table, { span, moment, first })) ?? found
  }
  return found
}

interface Search {
  readonly span: Span
  readonly moment: Instant
  /** Known to be earlier. */
  readonly first: Moment
}

async function searchIn(reading: Reading, table: LongTable, { span, moment, first }: Search): Promise<Moment | null> {
  const last = await edgeOf(reading, table, { span, newest: true })
  if (last === null || last.at < moment) return null
  let [before, end, found] = [first.sequence, last.sequence, last]
  // Earlier: all up to `before`. Not earlier: `found`, the first row from `end` on.
  while (end - before > 1) {
    const middle = before + Math.floor((end - before) / 2)
    const row = await edgeOf(reading, table, { span: { from: middle, before: end }, newest: false })
    if (row !== null && row.at < moment) {
      before = row.sequence
    } else {
      end = middle
      found = row ?? found
    }
  }
  return found
}

async function edgeOf(
  { tables }: Reading,
  table: LongTable,
  { span, newest }: { readonly span: Span; readonly newest: boolean },
): Promise<Moment | null> {
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
