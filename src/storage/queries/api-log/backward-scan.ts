import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Span } from '../engine.ts'
import { exponentialRanges } from '../exponential-ranges.ts'
import type { LogRow, LogSource } from './log-source.ts'

// Most searches end among the newest rows, and counting rows costs about as much as reading them.
const FIRST_ROWS = 200
const GROWTH = 10
// A refused body may have 64 KiB, so a page of them takes at most 16 MiB.
const PAGE = 250
// A search by time still finds every row if the clock was set back by less than this.
export const CLOCK_SLACK_MS = 60_000

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
export async function scanBackward<Row extends LogRow>(source: LogSource<Row>, search: Search): Promise<Scanned<Row>> {
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
      for await (const row of fitting(source, { from: first, before: end })) {
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

async function* fitting<Row extends LogRow>(source: LogSource<Row>, { from, before }: Span): AsyncGenerator<Row> {
  let end = before
  for (;;) {
    const rows = await source.read({ from, before: end, limit: PAGE })
    for (const row of rows) if (source.fits(row)) yield row
    const last = rows.at(-1)
    // After a full page, the range may hold more.
    if (!last || rows.length < PAGE) return
    end = last.sequence
  }
}
