import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Span } from '../engine.ts'
import { type Range, widening } from '../newest-first.ts'

// What most people want stands among the newest, and counting rows costs about as much as reading them.
const FIRST_ROWS = 200
// A refused body may have 64 KiB, so a page of them takes at most 16 MiB.
const PAGE = 250
// A clock that was set back by less than this hides nothing from whoever asks for a time.
export const CLOCK_SLACK_MS = 60_000

/** One half of the log, of one account, as far as a filter can be answered by an index alone. */
export interface LogHalf<Row extends LogRow> {
  /** Counts back from the end of the span. `first` is the oldest that was counted; null when there is none. */
  count(span: Span, most: number): Promise<{ readonly count: number; readonly first: Sequence | null }>
  /** Those of the stretch that the database finds fit to the filter, by descending sequence, no more than its limit. */
  read(range: Range): Promise<readonly Row[]>
  /** Of what was read, what truly fits. */
  fits(row: Row): boolean
  timeOf(sequence: Sequence): Promise<Instant>
}

export interface LogRow {
  readonly sequence: Sequence
}

export interface Scanned<Row> {
  readonly rows: readonly Row[]
  /** Everything from here on has been looked through; null: everything there is. */
  readonly position: Sequence | null
  /** When that was; null with a null position, or when the rows end there because no more were wanted. */
  readonly at: Instant | null
}

interface Search {
  readonly spans: readonly Span[]
  readonly before: Sequence
  /** How many rows are wanted, and how many may be looked through. */
  readonly want: number
  readonly most: number
  readonly since: Instant | null
}

/** Looks for rows from a place backwards. Ends with as many as are wanted, or when it has looked through enough. */
export async function lookBack<Row extends LogRow>(half: LogHalf<Row>, search: Search): Promise<Scanned<Row>> {
  const { before, want, since } = search
  const found: Row[] = []
  let left = search.most
  for (const span of widening(search.spans.filter(({ from }) => from < before))) {
    let end = Math.min(span.before, before)
    let size = Math.min(FIRST_ROWS, left)
    for (;;) {
      const { count, first } = await half.count({ from: span.from, before: end }, size)
      if (first === null) break
      for await (const row of fitting(half, { from: first, before: end })) {
        found.push(row)
        if (found.length >= want) return { rows: found, position: row.sequence, at: null }
      }
      left -= count
      end = first
      if (since !== null && (await half.timeOf(first)) < since - CLOCK_SLACK_MS) return all(found)
      if (left <= 0) return { rows: found, position: first, at: await half.timeOf(first) }
      if (count < size) break
      size = left
    }
  }
  return all(found)
}

function all<Row>(rows: readonly Row[]): Scanned<Row> {
  return { rows, position: null, at: null }
}

async function* fitting<Row extends LogRow>(half: LogHalf<Row>, { from, before }: Span): AsyncGenerator<Row> {
  let end = before
  for (;;) {
    const rows = await half.read({ from, before: end, limit: PAGE })
    for (const row of rows) if (half.fits(row)) yield row
    const last = rows.at(-1)
    // A full page may have left something of its stretch behind.
    if (!last || rows.length < PAGE) return
    end = last.sequence
  }
}
