import type { Sequence } from '../../core/message/message.ts'
import type { Span } from './engine.ts'
import type { Reader, Reading } from './store.ts'

// What one query looks at and returns at most. Both are small, so that neither a rare thing in a long table nor a
// slow reader keeps a transaction open: that would keep the engine from tidying up after the service.
const LONGEST_RANGE = 100_000
// Most people want a few of the newest rows.
const FIRST_RANGE = 1_000
// A refused body may have 64 KiB, so a page of them takes at most 16 MiB.
const PAGE = 250
const MOST_SPANS_AT_ONCE = 32

export interface Range extends Span {
  readonly limit: number
}

type LongTable = 'message' | 'request'

/**
 * Walks a table from its newest row to its oldest, as far as the reader wants. `read` returns those rows of the stretch
 * that it wants, by descending sequence and no more than the limit; it may well return none.
 */
export async function* newestFirst<Row extends { readonly sequence: Sequence }>(
  { tables, engine }: Reading,
  table: LongTable,
  read: (range: Range) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  let rowsAtOnce = FIRST_RANGE
  for (const span of widening(await engine.spans(tables))) {
    let end = await endOfRows(tables, table, span)
    while (end !== null) {
      const from: Sequence = await engine.startOfRange(tables, {
        table,
        span: { from: span.from, before: end },
        rows: rowsAtOnce,
      })
      yield* pages({ from, before: end }, read)
      rowsAtOnce = Math.min(rowsAtOnce * 10, LONGEST_RANGE)
      end = await endOfRows(tables, table, { from: span.from, before: from })
    }
  }
}

/** Ever more of them together: many may hold nothing that is wanted. */
export function* widening(spans: readonly Span[]): Generator<Span> {
  let count = 1
  for (let at = 0; at < spans.length; at += count, count = Math.min(count * 2, MOST_SPANS_AT_ONCE)) {
    const together = spans.slice(at, at + count)
    yield { from: together.at(-1)?.from ?? 0, before: together[0]?.before ?? 0 }
  }
}

async function* pages<Row extends { readonly sequence: Sequence }>(
  { from, before: end }: Span,
  read: (range: Range) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  let before = end
  for (;;) {
    const rows = await read({ before, from, limit: PAGE })
    yield* rows
    // A full page may have left something of its stretch behind.
    if (rows.length < PAGE) return
    before = rows.at(-1)?.sequence ?? from
  }
}

/** Just behind the newest row of the span; null when there is none. Numbers may have long gaps. */
async function endOfRows(tables: Reader, table: LongTable, { from, before }: Span): Promise<Sequence | null> {
  const newest = await tables
    .selectFrom(table)
    .select('sequence')
    .where('sequence', '<', before)
    .where('sequence', '>=', from)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  return newest ? newest.sequence + 1 : null
}
