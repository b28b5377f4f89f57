import type { ConnectionId } from '../../../core/ids.ts'
import type { RequestTimeline } from '../../../core/ports/administration.ts'
import { shownState } from '../messages/message-view.ts'
import { newestFirst, type Range } from '../newest-first.ts'
import type { Reader, Reading } from '../store.ts'
import { acceptanceTookMs, commitUsOfM, toMs } from './request-duration.ts'
import type { WantedRequests } from './wanted-requests.ts'

// What every accepted request was answered, and so not kept with each of them.
const ANSWER = { status: 200, code: 'HC-1' } as const

/** The accepted half of the API log: the messages, but for copies that a person made. Newest first. */
export async function* acceptedRequests(reading: Reading, wanted: WantedRequests): AsyncGenerator<RequestTimeline> {
  const { statuses } = wanted
  if (statuses && (ANSWER.status < statuses.from || ANSWER.status > statuses.to)) return
  const { tables } = reading
  const connectionIds = wanted.connection === null ? null : await connectionsNumbered(tables, wanted.connection)
  if (connectionIds?.length === 0) return
  const rows = newestFirst(reading, 'message', (range) =>
    selectAccepted(tables, wanted, { ...range, connectionIds }).execute(),
  )
  for await (const row of rows) yield toEntry(row)
}

/** Removed ones too: what they sent stays in the log. */
async function connectionsNumbered(tables: Reader, number: string) {
  const rows = await tables.selectFrom('connection').select('id').where('number', '=', number).execute()
  return rows.map(({ id }) => id)
}

interface MessageRange extends Range {
  /** Null means all. */
  readonly connectionIds: readonly ConnectionId[] | null
}

function selectAccepted(tables: Reader, wanted: WantedRequests, range: MessageRange) {
  return tables
    .selectFrom(selectPage(tables, wanted, range).as('m'))
    .innerJoin('connection as c', 'c.id', 'm.connection_id')
    .innerJoin('account as a', 'a.id', 'm.account_id')
    .leftJoin('token as t', 't.id', 'm.token_id')
    .leftJoin('open_attempt as o', (join) =>
      join.onRef('o.connection_id', '=', 'm.connection_id').onRef('o.message_sequence', '=', 'm.sequence'),
    )
    .select([
      'm.sequence',
      'm.id',
      'm.request_id',
      'm.accepted_at',
      'm.state',
      'm.recipient',
      'm.type',
      'm.body',
      'm.body_deleted_at',
      'm.remote_address',
      'm.user_agent',
      'm.took_us',
      commitUsOfM(range).as('commit_us'),
      'a.name as account_name',
      'm.token_id',
      't.name as token_name',
      'c.number',
      'o.message_sequence as open_sequence',
    ])
    .orderBy('m.sequence', 'desc')
}

/** The rows first and what belongs to them after: joined in one, the database may begin with the smaller table and sort. */
function selectPage(tables: Reader, wanted: WantedRequests, range: MessageRange) {
  let query = tables
    .selectFrom('message')
    .selectAll()
    .where('request_id', 'is not', null)
    .where('sequence', '<', range.before)
    .where('sequence', '>=', range.from)
    .orderBy('sequence', 'desc')
    .limit(range.limit)
  if (range.connectionIds !== null) query = query.where('connection_id', 'in', range.connectionIds)
  if (wanted.accountId !== null) query = query.where('account_id', '=', wanted.accountId)
  if (wanted.tokenIds !== null) query = query.where('token_id', 'in', wanted.tokenIds)
  // Without an index: one would cost every acceptance more than this question, which a person asks now and then.
  if (wanted.requestId !== null) query = query.where('request_id', '=', wanted.requestId)
  return query
}

type AcceptedRow = Awaited<ReturnType<ReturnType<typeof selectAccepted>['execute']>>[number]

function toEntry(row: AcceptedRow): RequestTimeline {
  return {
    requestId: row.request_id ?? '',
    account: row.account_name,
    token: row.token_name,
    tokenId: row.token_id,
    endedToken: null,
    // Only the acceptance is kept with its time. It comes after the wait for a commit, but for what the commit's
    // earlier rows took: less than a few milliseconds.
    receivedAt: row.accepted_at - Math.round(toMs(row.took_us ?? 0)),
    ...ANSWER,
    outcome: 'accepted',
    errors: [],
    messageId: row.id,
    state: shownState(row),
    connection: row.number,
    to: row.recipient,
    type: row.type,
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    tookMs: acceptanceTookMs(row),
    summed: null,
    body: row.body_deleted_at === null ? row.body : null,
    bodyDeletedAt: row.body_deleted_at,
  }
}
