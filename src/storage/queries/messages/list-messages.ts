import { sql } from 'kysely'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { UnresolvedFacts } from '../../../core/message/resend-facts.ts'
import type { MessageFilter, MessageView } from '../../../core/ports/administration.ts'
import { exponentialRanges } from '../engine.ts'
import { laneContextOf } from '../lanes/lane-reason.ts'
import { type Reader, readingOf, type Store } from '../store.ts'
import { type MessageRow, selectMessages, selectRows, toMessageView, toMessageViews } from './message-view.ts'
import { RESEND_FACTS, toResendFacts } from './send-again.ts'

/** A page is read at once, so that slow printing of a long list keeps no transaction open. */
const PAGE = 1_000

export async function* listMessages(store: Store, filter: MessageFilter): AsyncIterable<MessageView> {
  const pages = filter.state === 'SENDING' ? sendingPages(store, filter) : pagesOf(store, filter)
  let left = filter.limit ?? Number.POSITIVE_INFINITY
  if (left <= 0) return
  const context = await laneContextOf(store)
  for await (const rows of pages) {
    const wanted = rows.slice(0, left)
    yield* await toMessageViews(readingOf(store), wanted, context)
    left -= wanted.length
    if (left <= 0) return
  }
}

async function* pagesOf(
  { database, engine, now }: Store,
  filter: MessageFilter,
): AsyncGenerator<readonly MessageRow[]> {
  const limit = Math.min(filter.limit ?? PAGE, PAGE)
  for (const span of exponentialRanges(await engine.spans(database))) {
    let { before } = span
    for (;;) {
      const wanted = selectWanted(database, filter)
      const inSpan =
        filter.accountId === null
          ? wanted.where('sequence', '>=', span.from).where('sequence', '<', before)
          : wanted.where(engine.ofAccount(filter.accountId, { from: span.from, before })).orderBy('account_id', 'desc')
      const page = inSpan.orderBy('sequence', 'desc').limit(limit)
      const rows = await selectMessages(database, now(), page).orderBy('m.sequence', 'desc').execute()
      yield rows
      const last = rows.at(-1)
      if (!last || rows.length < limit) break
      before = last.sequence
    }
  }
}

/** There is at most one of each connection, so they are looked up one by one: among all that wait they are rare. */
async function* sendingPages({ database, now }: Store, filter: MessageFilter): AsyncGenerator<readonly MessageRow[]> {
  const open = await database
    .selectFrom('open_attempt')
    .select('message_sequence')
    .orderBy('message_sequence', 'desc')
    .execute()
  for (let at = 0; at < open.length; at += PAGE) {
    const sequences = open.slice(at, at + PAGE).map((row) => row.message_sequence)
    const wanted = selectWanted(database, filter).where('sequence', 'in', sequences)
    const page = filter.accountId === null ? wanted : wanted.where('account_id', '=', filter.accountId)
    yield await selectMessages(database, now(), page).orderBy('m.sequence', 'desc').execute()
  }
}

/** Selects from all accounts. */
function selectWanted(tables: Reader, filter: MessageFilter) {
  let query = selectRows(tables)
  if (filter.connectionId !== null) query = ofConnection(query, filter.connectionId)
  switch (filter.state) {
    case null:
      return query
    case 'QUEUED':
      return query
        .where('state', '=', sql.lit('QUEUED'))
        .where('sequence', 'not in', (open) => open.selectFrom('open_attempt').select('message_sequence'))
    case 'SENDING':
      return query.where('state', '=', sql.lit('QUEUED'))
    default:
      // As a literal: a database that plans without knowing it cannot use an index on just these.
      return query.where('state', '=', sql.lit(filter.state))
  }
}

/** Its account is said too, because an engine may keep the messages of an account together, but not those of a connection. */
function ofConnection(query: ReturnType<typeof selectRows>, id: ConnectionId) {
  return query
    .where('connection_id', '=', id)
    .where('account_id', '=', (own) => own.selectFrom('connection').select('account_id').where('id', '=', id))
}

export async function listUnresolved(
  store: Store,
  accountId: AccountId | null,
): Promise<readonly (MessageView & UnresolvedFacts)[]> {
  let unresolved = selectRows(store.database)
    .where('state', '=', sql.lit('UNCONFIRMED'))
    .where('resolved_at', 'is', null)
  if (accountId !== null) unresolved = unresolved.where('account_id', '=', accountId)
  const context = await laneContextOf(store)
  const rows = await selectMessages(store.database, context.now, unresolved)
    .select(['c.channel', 'm.words', ...RESEND_FACTS])
    .orderBy('m.sequence')
    .execute()
  return rows.map((row) => ({
    ...toMessageView(row, false, context),
    channel: row.channel,
    words: row.words,
    ...toResendFacts(row),
  }))
}
