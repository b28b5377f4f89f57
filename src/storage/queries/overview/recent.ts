import { sql } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { MessageState } from '../../../core/message/message.ts'
import { requestsOfRow } from '../api-log/count-requests.ts'
import { readingOf, type Store } from '../store.ts'
import { OPEN_REASON } from './count-hour.ts'
import { HOUR_MS, hourOf } from './hours.ts'
import type { LongTable } from './lower-bound-by-time.ts'

// A millisecond's worth. Accounts with more than this in two hours have figures that are seconds old.
const MOST_ROWS = 1_000
// Those parts that can hold rows of the last two hours.
const NEWEST_SPANS = 2

/** What came in this hour and in the one before. */
export interface Recent {
  readonly from: Instant
  readonly messages: readonly {
    readonly at: Instant
    readonly connectionId: ConnectionId
    readonly state: MessageState
    /** Null where no action is needed. */
    readonly openReason: string | null
  }[]
  readonly refused: readonly { readonly at: Instant; readonly requests: number }[]
}

/**
 * The messages and refusals of an account within this hour and the one before, by their current state: the background count
 * of these hours is always a little late. Null where there are too many rows to read for each view; then the counted hours
 * are good enough.
 */
export async function readRecent(store: Store, accountId: AccountId, now: Instant): Promise<Recent | null> {
  const from = hourOf(now) - HOUR_MS
  const messages = await readNewest(store, 'message', { accountId, from })
  const refused = await readNewest(store, 'request', { accountId, from })
  return messages && refused && { from, messages, refused }
}

interface Newest {
  message: Recent['messages'][number]
  request: Recent['refused'][number]
}

async function readNewest<Table extends LongTable>(
  store: Store,
  table: Table,
  { accountId, from }: { readonly accountId: AccountId; readonly from: Instant },
): Promise<readonly Newest[Table][] | null> {
  const { tables, engine } = readingOf(store)
  const columns =
    table === 'message'
      ? sql`accepted_at as at, connection_id as "connectionId", state, ${OPEN_REASON} as "openReason"`
      : sql`received_at as at, ${requestsOfRow()} as requests, message_id`
  const found: (Newest[Table] & { readonly message_id?: string | null })[] = []
  for (const span of (await engine.spans(tables)).slice(0, NEWEST_SPANS)) {
    const { rows } = await sql<(typeof found)[number]>`select ${columns} from ${sql.table(table)}
      where ${engine.ofAccount(accountId, span)}
      order by account_id desc, sequence desc limit ${MOST_ROWS + 1}`.execute(tables)
    found.push(...rows.filter(({ at }) => at >= from))
    if (found.length > MOST_ROWS) return null
    if (rows.some(({ at }) => at < from)) break
  }
  // The other requests repeat one that was accepted.
  return found.filter(({ message_id }) => (message_id ?? null) === null)
}
