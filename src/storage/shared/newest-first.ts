import type { Sequence } from '../../core/message/message.ts'
import type { Reader } from './store.ts'

// What one query looks at and returns at most. Both are small, so that neither a rare thing in a long table nor a
// slow reader keeps a transaction open: that would keep the write-ahead log of the service from being cleared.
const STRETCH = 100_000
// A refused body may have 64 KiB, so a page of them takes at most 16 MiB.
const PAGE = 250

export interface Stretch {
  readonly before: Sequence
  readonly from: Sequence
  readonly limit: number
}

export interface Extent {
  readonly first: Sequence | null
  readonly last: Sequence | null
}

/**
 * Walks a table from its newest row to its oldest, as far as the reader wants. `read` returns those rows of the stretch
 * that it wants, by descending sequence and no more than the limit; it may well return none.
 */
export async function* newestFirst<Row extends { readonly sequence: Sequence }>(
  { first, last }: Extent,
  read: (stretch: Stretch) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  if (first === null || last === null) return
  let before = last + 1
  while (before > first) {
    const from = Math.max(before - STRETCH, first)
    const rows = await read({ before, from, limit: PAGE })
    yield* rows
    // A full page may have left something of its stretch behind.
    before = rows.length < PAGE ? from : (rows.at(-1)?.sequence ?? from)
  }
}

/** Two queries in one: asked for both ends at once, SQLite would read the whole table. */
export function extentOf(tables: Reader, table: 'message' | 'request'): Promise<Extent> {
  return tables
    .selectNoFrom((query) => [
      query
        .selectFrom(table)
        .select(({ fn }) => fn.min<Sequence | null>('sequence').as('end'))
        .as('first'),
      query
        .selectFrom(table)
        .select(({ fn }) => fn.max<Sequence | null>('sequence').as('end'))
        .as('last'),
    ])
    .executeTakeFirstOrThrow()
}
