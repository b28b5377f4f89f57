import type { AccountId, MessageId } from '../../../core/ids.ts'
import type { MessageTimeline } from '../../../core/ports/administration.ts'
import { type ApiLog, type LogMedia, type LogTimeline, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import { Refusal } from '../../../core/refusals.ts'
import { explainMessage } from '../messages/message-timeline.ts'
import { change, type Reader, readingOf, type Store, writeAudit } from '../store.ts'
import { readMessageEntry } from './accepted-log-source.ts'
import { countByTime } from './count-by-time.ts'
import type { FoundEntry } from './log-source.ts'
import { readPage, toLogEntry } from './read-page.ts'
import { findEndedToken, readRequestEntry } from './rejected-log-source.ts'
import { contentOf } from './request-body.ts'

export function createApiLog(store: Store): ApiLog {
  return {
    readPage: (accountId, wanted) => readPage(store, { accountId, filter: wanted.filter }, wanted),
    countByTime: (accountId, { filter, offsetMinutes }) => countByTime(store, { accountId, filter }, offsetMinutes),
    readEntry: (accountId, id) => readEntry(store, accountId, id),
    noteExport: (accountId, { format, filter }, actor) =>
      change(store, actor, (making) =>
        writeAudit(making, { action: 'log.export', object: 'API log', accountId, detail: { format, filter } }),
      ),
  }
}

async function readEntry(store: Store, accountId: AccountId, id: string): Promise<LogTimeline> {
  const found = (await ofMessage(store, accountId, id)) ?? (await ofRequest(store, accountId, id))
  if (found) return found
  // Finding an accepted request by its own id takes a scan: an index would cost every acceptance more.
  const search = { accountId, filter: { ...NO_FILTER, id } }
  const { entries } = await readPage(store, search, { cursor: null, limit: 1 })
  const accepted = entries[0]?.messageId ? await ofMessage(store, accountId, entries[0].messageId) : null
  if (accepted) return accepted
  throw new Refusal(
    'request_unknown',
    'There is no entry with this id in the API log of this account. Requests with no token or an unknown one are in no API log, and entries whose time was over are deleted. An older request that is still kept is found by its id with the search of the list.',
  )
}

async function ofMessage(store: Store, accountId: AccountId, id: string): Promise<LogTimeline | null> {
  const { database, engine } = store
  const sequence = await engine.locate(database, id as MessageId)
  const entry = sequence === null ? null : await readMessageEntry(database, accountId, sequence)
  if (!entry || sequence === null) return null
  const {
    body,
    resolved_at: resolvedAt,
    body_deleted_at: bodyDeletedAt,
  } = await database
    .selectFrom('message')
    .select(['body', 'resolved_at', 'body_deleted_at'])
    .where('account_id', '=', accountId)
    .where('sequence', '=', sequence)
    .executeTakeFirstOrThrow()
  return {
    entry: toLogEntry(entry),
    body: bodyDeletedAt === null ? body : null,
    content: contentOf(body),
    bodyDeletedAt,
    endedToken: null,
    ...(await around(store, entry)),
    isUnresolved: entry.state === 'UNCONFIRMED' && resolvedAt === null,
    media: await readMedia(database, { sequence, body }),
  }
}

async function ofRequest(store: Store, accountId: AccountId, id: string): Promise<LogTimeline | null> {
  const found = await readRequestEntry(readingOf(store), accountId, id)
  if (!found) return null
  const { entry, body, bodyDeletedAt } = found
  const repeated = entry.messageId === null ? null : await ofMessage(store, accountId, entry.messageId)
  return {
    entry: toLogEntry(entry),
    endedToken: await findEndedToken(store.database, entry),
    // A repeat has the same fields as its original, so its own text is not stored.
    body: body ?? repeated?.body ?? null,
    content: contentOf(body ?? repeated?.body ?? null),
    bodyDeletedAt: bodyDeletedAt ?? repeated?.bodyDeletedAt ?? null,
    message: repeated?.message ?? null,
    connection: repeated?.connection ?? null,
    isUnresolved: repeated?.isUnresolved ?? false,
    media: repeated?.media ?? null,
  }
}

async function around(
  store: Store,
  { messageId, connectionId }: FoundEntry,
): Promise<{ message: MessageTimeline | null; connection: LogTimeline['connection'] }> {
  const connection = await store.database
    .selectFrom('connection')
    .select(['id', 'number', 'name', 'channel', 'state'])
    .where('id', '=', connectionId ?? ('' as never))
    .executeTakeFirst()
  return {
    message: messageId === null ? null : await explainMessage(store, messageId),
    connection: connection ? { ...connection } : null,
  }
}

async function readMedia(
  tables: Reader,
  { sequence, body }: { readonly sequence: number; readonly body: string },
): Promise<LogMedia | null> {
  const row = await tables
    .selectFrom('media')
    .select(['url', 'type', 'state', 'tries', 'size_bytes', 'sha256', 'mime', 'took_ms'])
    .where('message_sequence', '=', sequence)
    .executeTakeFirst()
  if (!row) return null
  return {
    type: row.type,
    name: contentOf(body)?.fileName ?? null,
    url: row.url,
    state: row.state,
    sizeBytes: row.size_bytes,
    mime: row.mime,
    sha256: row.sha256,
    tookMs: row.took_ms,
    tries: row.tries,
  }
}
