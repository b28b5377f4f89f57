import { sql } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Span } from '../engine.ts'
import type { Reading } from '../store.ts'

// Reading these takes some 10 ms on SQLite and 30 ms on PostgreSQL on a small machine. More would be exact for busier
// accounts, but a person notices 50 ms.
const MOST_ROWS = 10_000
// One for each day, on the engine that has several.
const MOST_SPANS = 32

/** The newest rows of an account in a table. */
export interface Recent extends Span {
  /** All rows from this time on are included: the wanted time, or a later one when there are too many rows to read. */
  readonly completeFrom: Instant
}

type LongTable = 'message' | 'request'

interface Wanted {
  readonly accountId: AccountId
  readonly since: Instant
}

export async function recentRows(
  { tables, engine }: Reading,
  table: LongTable,
  { accountId, since }: Wanted,
): Promise<Recent> {
  const spans = (await engine.spans(tables)).slice(0, MOST_SPANS)
  const all: Span = { from: spans.at(-1)?.from ?? 0, before: spans[0]?.before ?? 0 }
  const rows = tables.selectFrom(table).where(engine.ofAccount(accountId, all))
  // By the index of the account alone: only of the last of them more is read.
  const numbers = rows.select('sequence').orderBy('account_id', 'desc').orderBy('sequence', 'desc').limit(1)
  const newest = await numbers.executeTakeFirst()
  if (!newest) return { from: 0, before: 0, completeFrom: since }
  const before = newest.sequence + 1
  const oldest = await numbers.offset(MOST_ROWS).executeTakeFirst()
  if (!oldest) return { from: all.from, before, completeFrom: since }
  const time = sql.ref<Instant>(table === 'message' ? 'accepted_at' : 'received_at')
  const { at } = await rows.select(time.as('at')).where('sequence', '=', oldest.sequence).executeTakeFirstOrThrow()
  // Older rows may have the same millisecond.
  return { from: oldest.sequence, before, completeFrom: at < since ? since : at + 1 }
}
