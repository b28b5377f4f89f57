import { sql } from 'kysely'
import type { AccountId } from '../../core/ids.ts'
import type { MessageFilter, MessageView } from '../../core/ports/administration.ts'
import { selectMessages, toMessageViews } from './message-view.ts'
import type { Reader, Store } from './store.ts'

/** A page is read in one go, so nobody who prints a long list slowly keeps a transaction open. */
const PAGE = 1_000

export async function* listMessages(store: Store, filter: MessageFilter): AsyncIterable<MessageView> {
  let left = filter.limit ?? Number.POSITIVE_INFINITY
  let before: number | null = null
  while (left > 0) {
    const limit: number = Math.min(left, PAGE)
    const rows = await page(store.database, filter, { before, limit }).execute()
    yield* await toMessageViews(store.database, rows, store.now())
    const last = rows.at(-1)
    if (!last || rows.length < limit) return
    before = last.sequence
    left -= rows.length
  }
}

function page(
  tables: Reader,
  filter: MessageFilter,
  { before, limit }: { readonly before: number | null; readonly limit: number },
) {
  let query = selectMessages(tables).orderBy('m.sequence', 'desc').limit(limit)
  if (before !== null) query = query.where('m.sequence', '<', before)
  if (filter.accountId !== null) query = query.where('m.account_id', '=', filter.accountId)
  if (filter.connectionId !== null) query = query.where('m.connection_id', '=', filter.connectionId)
  switch (filter.state) {
    case null:
      return query
    case 'QUEUED':
      return query.where('m.state', '=', 'QUEUED').where('o.message_sequence', 'is', null)
    case 'SENDING':
      return query
        .where('m.state', '=', 'QUEUED')
        .where('m.sequence', 'in', (open) => open.selectFrom('open_attempt').select('message_sequence'))
    default:
      return query.where('m.state', '=', filter.state)
  }
}

export async function listUnresolved(store: Store, accountId: AccountId | null): Promise<readonly MessageView[]> {
  let query = selectMessages(store.database)
    .where('m.state', '=', sql.lit('UNCONFIRMED'))
    .where('m.resolved_at', 'is', null)
    .orderBy('m.sequence')
  if (accountId !== null) query = query.where('m.account_id', '=', accountId)
  const rows = await query.execute()
  return toMessageViews(store.database, rows, store.now())
}
