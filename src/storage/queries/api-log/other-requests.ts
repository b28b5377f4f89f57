import type { Instant } from '../../../core/ids.ts'
import type { RequestError, RequestTimeline, SummedView } from '../../../core/ports/administration.ts'
import type { EndedToken } from '../../../core/token/token.ts'
import { shownState } from '../messages/message-view.ts'
import { newestFirst, type Range } from '../newest-first.ts'
import type { Reader, Reading } from '../store.ts'
import { within } from '../within.ts'
import { toMs } from './request-duration.ts'
import type { WantedRequests } from './wanted-requests.ts'

/** The other half of the API log: what was refused, and repeats under an idempotency key. Newest first. */
export async function* otherRequests(reading: Reading, wanted: WantedRequests): AsyncGenerator<RequestTimeline> {
  const rows = newestFirst(reading, 'request', (range) => selectOthers(reading, wanted, range).execute())
  for await (const row of rows) {
    const entry = toEntry(row)
    // The sender number of a refused request stands in its body only.
    if (wanted.connection === null || entry.connection === wanted.connection) yield entry
  }
}

function selectOthers({ tables, engine }: Reading, wanted: WantedRequests, range: Range) {
  return tables
    .selectFrom(selectPage(tables, wanted, range).as('r'))
    .innerJoin('account as a', 'a.id', 'r.account_id')
    .leftJoin('token as t', 't.id', 'r.token_id')
    .leftJoin('message as m', (join) =>
      join.onRef('m.id', '=', 'r.message_id').on(within('m.sequence', engine.repeatedBy(range))),
    )
    .leftJoin('connection as c', 'c.id', 'm.connection_id')
    .leftJoin('open_attempt as o', (join) =>
      join.onRef('o.connection_id', '=', 'm.connection_id').onRef('o.message_sequence', '=', 'm.sequence'),
    )
    .select([
      'r.sequence',
      'r.request_id',
      'r.token_id',
      'r.received_at',
      'r.took_us',
      'r.status',
      'r.code',
      'r.errors',
      'r.body',
      'r.body_deleted_at',
      'r.summed_requests',
      'r.summed_since',
      'r.message_id',
      'r.remote_address',
      'r.user_agent',
      'a.name as account_name',
      't.name as token_name',
      'm.state',
      'm.recipient',
      'm.type',
      'c.number',
      'o.message_sequence as open_sequence',
    ])
    .orderBy('r.sequence', 'desc')
}

function selectPage(tables: Reader, wanted: WantedRequests, range: Range) {
  const { statuses } = wanted
  let query = tables
    .selectFrom('request')
    .selectAll()
    .where('sequence', '<', range.before)
    .where('sequence', '>=', range.from)
    .orderBy('sequence', 'desc')
    .limit(range.limit)
  if (wanted.accountId !== null) query = query.where('account_id', '=', wanted.accountId)
  if (wanted.tokenIds !== null) query = query.where('token_id', 'in', wanted.tokenIds)
  if (wanted.requestId !== null) query = query.where('request_id', '=', wanted.requestId)
  if (statuses) query = query.where('status', '>=', statuses.from).where('status', '<=', statuses.to)
  return query
}

type OtherRow = Awaited<ReturnType<ReturnType<typeof selectOthers>['execute']>>[number]

function toEntry(row: OtherRow): RequestTimeline {
  const { state, open_sequence } = row
  const written = row.message_id === null ? readFields(row.body) : null
  return {
    requestId: row.request_id,
    account: row.account_name,
    token: row.token_name,
    tokenId: row.token_id,
    endedToken: null,
    receivedAt: row.received_at,
    status: row.status,
    code: row.code,
    outcome: row.message_id === null ? 'refused' : 'repeated',
    errors: row.errors === null ? [] : (JSON.parse(row.errors) as RequestError[]),
    messageId: row.message_id,
    state: state && shownState({ state, open_sequence }),
    connection: written ? written.from : row.number,
    to: written ? written.to : row.recipient,
    type: written ? written.type : row.type,
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    tookMs: row.summed_requests === null ? toMs(row.took_us) : null,
    summed: toSummed(row),
    body: row.body,
    bodyDeletedAt: row.body_deleted_at,
  }
}

/** Why the token of a refused request was valid no more when that came. */
export async function findEndedToken(
  tables: Reader,
  { tokenId, status, receivedAt }: Pick<RequestTimeline, 'tokenId' | 'status' | 'receivedAt'>,
): Promise<EndedToken | null> {
  if (tokenId === null || status !== 401) return null
  const token = await tables
    .selectFrom('token')
    .select(['account_id', 'name', 'deleted_at', 'expires_at', 'successor_id'])
    .where('id', '=', tokenId)
    .executeTakeFirst()
  if (!token) return null
  const { account_id, name, deleted_at, expires_at, successor_id } = token
  const whoDid = async (action: string) => {
    const done = await tables
      .selectFrom('audit')
      .select('actor')
      .where('account_id', '=', account_id)
      .where('action', '=', action)
      .where('object', '=', tokenId)
      .orderBy('sequence', 'desc')
      .limit(1)
      .executeTakeFirst()
    return done?.actor ?? null
  }
  if (deleted_at !== null && deleted_at <= receivedAt)
    return { name, how: 'deleted', at: deleted_at, by: await whoDid('token.delete') }
  if (expires_at > receivedAt) return null
  if (successor_id === null) return { name, how: 'expired', at: expires_at, by: null }
  return { name, how: 'replaced', at: expires_at, by: await whoDid('token.rotate') }
}

/** Null of what is one request. */
export function toSummed(row: {
  readonly summed_requests: number | null
  readonly summed_since: Instant | null
  readonly received_at: Instant
}): SummedView | null {
  const { summed_requests: requests, summed_since: since, received_at: until } = row
  return requests === null ? null : { requests, since: since ?? until }
}

interface WrittenFields {
  readonly from: string | null
  readonly to: string | null
  readonly type: string | null
}

/** What a refused body says, as far as it can be read. It may be anything. */
export function readFields(body: string | null): WrittenFields {
  const value = body === null ? null : readJson(body)
  return { from: textAt(value, 'from'), to: textAt(value, 'to'), type: textAt(fieldOf(value, 'message'), 'type') }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function textAt(value: unknown, name: string): string | null {
  const text = fieldOf(value, name)
  return typeof text === 'string' ? text : null
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : null
}
