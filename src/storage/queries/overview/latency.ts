import { sql } from 'kysely'
import type { AccountId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { OverviewView } from '../../../core/ports/console/overview.ts'
import type { Span } from '../engine.ts'
import type { Store } from '../store.ts'

const MOST_MESSAGES = 1_000
// Rows of all accounts together, where an engine does not separate them.
const MOST_ROWS = 4_000
const ROWS_AT_ONCE = 2_000

type Latency = OverviewView['latency']

/**
 * The latency of the newest published messages. Behind a long queue none is among the newest rows: then the rows before the
 * head of the most advanced lane are read.
 */
export async function readLatency(store: Store, accountId: AccountId, head: Sequence | null): Promise<Latency> {
  const newest = await findTook(store, accountId, Number.MAX_SAFE_INTEGER)
  return summaryOf(newest.length > 0 || head === null ? newest : await findTook(store, accountId, head))
}

async function findTook(store: Store, accountId: AccountId, end: Sequence): Promise<readonly number[]> {
  const took: number[] = []
  let scanned = 0
  for (const span of await store.engine.spans(store.database)) {
    let before = await endOfRows(store, { from: span.from, before: Math.min(span.before, end) })
    while (before !== null && before > span.from && scanned < MOST_ROWS && took.length < MOST_MESSAGES) {
      const range = { table: 'message' as const, span: { from: span.from, before }, rows: ROWS_AT_ONCE }
      const from = await store.engine.startOfRange(store.database, range)
      took.push(...(await readTook(store, accountId, { from, before })))
      scanned += ROWS_AT_ONCE
      before = from
    }
  }
  return took.slice(0, MOST_MESSAGES)
}

function summaryOf(took: readonly number[]): Latency {
  if (took.length === 0) return null
  const sorted = [...took].sort((one, other) => one - other)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
  return { messages: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95) }
}

async function readTook({ database }: Store, accountId: AccountId, span: Span): Promise<readonly number[]> {
  const rows = await database
    .selectFrom('message')
    .select(sql<number>`published_at - accepted_at`.as('took'))
    .where('account_id', '=', accountId)
    .where('sequence', '>=', span.from)
    .where('sequence', '<', span.before)
    .where('published_at', 'is not', null)
    // Of these it is only known when a person said so, maybe days later.
    .where((where) => where.or([where('reason', 'is', null), where('reason', '<>', 'marked_arrived')]))
    .orderBy('sequence', 'desc')
    .execute()
  // A clock that was set back is no reason to have been fast.
  return rows.map(({ took }) => Math.max(0, took))
}

async function endOfRows({ database }: Store, span: Span): Promise<Sequence | null> {
  const newest = await database
    .selectFrom('message')
    .select('sequence')
    .where('sequence', '>=', span.from)
    .where('sequence', '<', span.before)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  return newest ? newest.sequence + 1 : null
}
