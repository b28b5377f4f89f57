import type { AccountId } from '../../../core/ids.ts'
import type { RequestFilter, RequestTimeline, RequestView } from '../../../core/ports/administration.ts'
import { type LogFilter, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import { Refusal } from '../../../core/refusals.ts'
import { readingOf, type Store } from '../store.ts'
import type { FoundEntry } from './log-source.ts'
import { readAll } from './read-page.ts'
import { findEndedToken, readRequestEntry } from './rejected-log-source.ts'

// A copy that a person made answers no request, so it has no status and this leaves it out.
const ANY_STATUS = { from: 0, to: 999 }

export async function* listRequests(store: Store, wanted: RequestFilter): AsyncIterable<RequestView> {
  const { accountId, tokenIds, connection, statuses, limit } = wanted
  if (tokenIds?.length === 0) return
  const filter: LogFilter = { ...NO_FILTER, tokenIds, connection, statuses: statuses ?? ANY_STATUS }
  for await (const entry of readAll(store, { accountId, filter }, limit ?? Number.POSITIVE_INFINITY))
    yield toRequest(entry)
}

export async function findRequest(
  store: Store,
  requestId: string,
  accountId: AccountId | null,
): Promise<RequestTimeline> {
  // Requests that made no message are few and have an index, so they come first.
  const found = await readRequestEntry(readingOf(store), accountId, requestId)
  if (found) {
    const { entry, body, bodyDeletedAt } = found
    return { ...toRequest(entry), endedToken: await findEndedToken(store.database, entry), body, bodyDeletedAt }
  }
  const filter: LogFilter = { ...NO_FILTER, statuses: ANY_STATUS, id: requestId }
  for await (const entry of readAll(store, { accountId, filter }, 1)) {
    // The filter finds a message by its own id, too.
    if (entry.requestId === requestId)
      return { ...toRequest(entry), endedToken: null, ...(await readBody(store, entry)) }
  }
  throw new Refusal(
    'request_unknown',
    `There is no request with the id ${requestId} in the API log, which keeps those that carried a known token.`,
  )
}

async function readBody({ database }: Store, { sequence }: FoundEntry) {
  const { body, body_deleted_at: bodyDeletedAt } = await database
    .selectFrom('message')
    .select(['body', 'body_deleted_at'])
    .where('sequence', '=', sequence)
    .executeTakeFirstOrThrow()
  return { body: bodyDeletedAt === null ? body : null, bodyDeletedAt }
}

function toRequest(entry: FoundEntry): RequestView {
  const { id, requestId, account, token, status, code, outcome } = entry
  const { receivedAt, errors, messageId, state, connection, to, type, remoteAddress, userAgent, tookMs, summed } = entry
  if (status === null || code === null || outcome === 'copied') throw new Error(`Entry ${id} answers no request`)
  const request = { requestId: requestId ?? id, account, token: token?.name ?? null, status, code, outcome }
  const rest = { receivedAt, errors, messageId, state, connection, to, type, remoteAddress, userAgent, tookMs, summed }
  return { ...request, ...rest }
}
