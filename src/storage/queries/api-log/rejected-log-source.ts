import { type SqlBool, sql } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { RequestError } from '../../../core/ports/administration.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import { REFUSALS } from '../../../core/refusals.ts'
import type { EndedToken } from '../../../core/token/token.ts'
import type { Span } from '../engine.ts'
import { within } from '../engine.ts'
import { shownState } from '../messages/message-view.ts'
import type { Reader, Reading } from '../store.ts'
import { findTokenActor } from '../tokens/token-rows.ts'
import {
  amongSequences,
  type Condition,
  connectionsNumbered,
  createLogSource,
  type FoundEntry,
  holds,
  type LogSearch,
  type LogSource,
  mayHold,
  RELATED_COLUMNS,
  toMs,
  toToken,
} from './log-source.ts'
import {
  completeBodies,
  contentHolds,
  isPreviewFull,
  previewOf,
  readFields,
  startOf,
  textInBodies,
} from './request-body.ts'

// A search by id shows at most so many repeats of a message.
const MOST_REPEATS = 1_000

/**
 * The requests that made no message: refusals, and repeats under an idempotency key. `only` limits the search to some
 * sequences. Null: the filter excludes every request.
 */
export async function rejectedLogSource(
  reading: Reading,
  { accountId, connectionId = null, filter }: LogSearch,
  only: readonly Sequence[] | null,
): Promise<LogSource | null> {
  const { view, state, result, isOpen, reason, connection } = filter
  if (isOpen || reason !== null || (result !== null && result !== 'refused' && result !== 'all')) return null
  if (view === 'attention' || view === 'failed' || (view === 'rejected' && state !== null)) return null
  if (only?.length === 0 || connectionId !== null) return null
  // The sender number of a refused request may be a recipient's, so viewers find it only if it is a sender of the account.
  if (filter.isMasked && connection !== null) {
    const own = await connectionsNumbered(reading.tables, accountId, connection)
    if (own.length === 0) return null
  }
  const text = textInBodies(filter)
  return createLogSource(reading, {
    table: 'request',
    accountId,
    indexed: [...(state === null ? [] : [sql<SqlBool>`message_id is not null`]), ...amongSequences(only)],
    further: conditions(filter),
    read: async ({ where, order }, range) => {
      const rows = selectRequests(reading, where).orderBy(order).limit(range.limit)
      const found = await withRelated(reading, rows, range).execute()
      const isWhole = (start: string) => isEnough(start) && (text === null || contentHolds(start, text))
      const rowsWithBodies = await completeBodies(reading.tables, 'request', { rows: found, isEnough: isWhole })
      return rowsWithBodies.map((row) => toEntry(row, text))
    },
    fits: (entry) => fits(entry, filter),
  })
}

/** Whether the database must search the bodies of requests, which may be long. */
export function readsBodies({ connection, type, recipient, text }: LogFilter): boolean {
  return connection !== null || type !== null || recipient !== null || text !== null
}

function selectRequests({ tables }: Reading, where: Condition) {
  return tables.selectFrom('request').selectAll().where(where)
}

/**
 * The sender, recipient and type of a refused request are stored in its body only. The database searches the body for the
 * plain text, and `fits` checks the fields.
 */
function conditions(filter: LogFilter): readonly Condition[] {
  const { view, result, statuses, tokenIds, type, recipient, connection, since, until, text } = filter
  const wanted: Condition[] = []
  if (view === 'rejected' || result !== null) wanted.push(sql`message_id is null`)
  if (statuses) wanted.push(sql`status between ${statuses.from} and ${statuses.to}`)
  if (tokenIds !== null) wanted.push(sql`token_id in (${sql.join(tokenIds)})`)
  if (since !== null) wanted.push(sql`received_at >= ${since}`)
  if (until !== null) wanted.push(sql`received_at <= ${until}`)
  for (const written of [connection, type]) {
    if (written !== null) wanted.push(sql`(message_id is not null or ${holds('body', written)})`)
  }
  // A number with signs between its digits was refused as malformed, and its body does not hold the plain digits.
  const isTo = (digits: string) => sql<SqlBool>`(${holds('body', digits)} or ${holds('errors', 'number_malformed')})`
  if (recipient) wanted.push(sql`(message_id is not null or ${isTo(recipient.digits)})`)
  if (text) wanted.push(sql`(${sql.join(placesOf(text, filter.isMasked), sql` or `)})`)
  return wanted
}

function placesOf(text: string, isMasked: boolean): readonly Condition[] {
  // Escaped as in the stored JSON.
  if (!isMasked) return [holds('code', text), holds('errors', JSON.stringify(text).slice(1, -1)), mayHold('body', text)]
  const codes = Object.keys(REFUSALS).filter((code) => code.includes(text.toLowerCase()))
  return [holds('code', text), ...codes.map((code) => holds('errors', `"code":"${code}"`))]
}

function fits(entry: FoundEntry, { state, type, recipient, connection, text, isMasked }: LogFilter): boolean {
  if (state !== null && entry.state !== state) return false
  if (type !== null && entry.type !== type) return false
  if (connection !== null && entry.connection !== connection) return false
  if (recipient !== null && !isTo(entry.to, recipient)) return false
  return text === null || entry.holdsText || mentions(entry, text.toLowerCase(), isMasked)
}

/** A caller may have written the number with signs. */
function isTo(written: string | null, { digits, isWhole }: NonNullable<LogFilter['recipient']>): boolean {
  const to = (written ?? '').replace('(0)', '').replaceAll(/\D/g, '').replace(/^00/, '')
  return isWhole ? to === digits : to.startsWith(digits)
}

function mentions({ code, errors }: FoundEntry, lower: string, isMasked: boolean): boolean {
  const texts = errors.flatMap((error) => [error.code, ...(isMasked ? [] : [error.message, error.field ?? ''])])
  return [code ?? '', ...texts].some((text) => text.toLowerCase().includes(lower))
}

function isEnough(start: string): boolean {
  const { from, to, type } = readFields(start)
  return from !== null && to !== null && type !== null && isPreviewFull(start)
}

function withRelated({ tables, engine }: Reading, rows: ReturnType<typeof selectRequests>, span: Span) {
  return tables
    .selectFrom(rows.as('r'))
    .innerJoin('account as a', 'a.id', 'r.account_id')
    .leftJoin('token as t', 't.id', 'r.token_id')
    .leftJoin('message as m', (join) =>
      join
        .onRef('m.id', '=', 'r.message_id')
        .onRef('m.account_id', '=', 'r.account_id')
        .on(within('m.sequence', engine.repeatedBy(span))),
    )
    .leftJoin('connection as c', 'c.id', 'm.connection_id')
    .leftJoin('open_attempt as o', (join) =>
      join.onRef('o.connection_id', '=', 'm.connection_id').onRef('o.message_sequence', '=', 'm.sequence'),
    )
    .select([
      'r.sequence',
      'r.request_id',
      'r.received_at',
      'r.took_us',
      'r.status',
      'r.code',
      'r.errors',
      startOf('r.body').as('body'),
      'r.summed_requests',
      'r.summed_since',
      'r.message_id',
      'r.message_state',
      'r.remote_address',
      'r.user_agent',
      startOf('m.body').as('message_body'),
      ...RELATED_COLUMNS,
    ])
    .orderBy('r.sequence', 'desc')
}

/** The sequences of requests of the account that have this id, or that repeated the message with this id. */
export async function locateRequests(
  reading: Reading,
  accountId: AccountId | null,
  id: string,
): Promise<readonly Sequence[]> {
  const select = (where: Condition) =>
    reading.tables.selectFrom('request').select('sequence').where(ofEachAccount(accountId)).where(where)
  const found = [
    ...(await select(sql`request_id = ${id}`).execute()),
    ...(await select(sql`message_id = ${id}`).limit(MOST_REPEATS).execute()),
  ]
  return [...new Set(found.map(({ sequence }) => sequence))]
}

/** The index by request id begins with the account. */
function ofEachAccount(accountId: AccountId | null): Condition {
  return accountId === null ? sql`account_id in (select id from account)` : sql`account_id = ${accountId}`
}

/** A request by its id as the list shows it, and its body; null when there is none. */
export async function readRequestEntry(
  reading: Reading,
  accountId: AccountId | null,
  requestId: string,
): Promise<{
  readonly entry: FoundEntry
  readonly body: string | null
  readonly bodyDeletedAt: Instant | null
} | null> {
  const found = await reading.tables
    .selectFrom('request')
    .select(['sequence', 'body', 'body_deleted_at'])
    .where(ofEachAccount(accountId))
    .where('request_id', '=', requestId)
    .limit(1)
    .executeTakeFirst()
  if (!found) return null
  const { sequence, body, body_deleted_at: bodyDeletedAt } = found
  const rows = selectRequests(reading, sql`sequence = ${sequence} and request_id = ${requestId}`)
  const row = await withRelated(reading, rows, { from: sequence, before: sequence + 1 }).executeTakeFirst()
  return row ? { entry: toEntry({ ...row, body }, null), body, bodyDeletedAt } : null
}

type RequestEntryRow = Awaited<ReturnType<ReturnType<typeof withRelated>['execute']>>[number]

function toEntry(row: RequestEntryRow, text: string | null): FoundEntry {
  const { open_sequence, received_at, summed_requests } = row
  const state = row.state && shownState({ state: row.state, open_sequence })
  const written = row.message_id === null ? readFields(row.body) : null
  return {
    sequence: row.sequence,
    account: row.account_name,
    countedAt: received_at,
    id: row.request_id,
    requestId: summed_requests === null ? row.request_id : null,
    token: toToken(row),
    receivedAt: received_at,
    status: row.status,
    code: row.code,
    outcome: row.message_id === null ? 'refused' : 'repeated',
    madeBy: null,
    resentBy: null,
    errors: row.errors === null ? [] : (JSON.parse(row.errors) as RequestError[]),
    messageId: row.message_id,
    state,
    reason: row.reason,
    reasonWords: row.words,
    connection: written ? written.from : row.number,
    connectionId: row.connection_id,
    connectionName: row.connection_name,
    to: written ? written.to : row.recipient,
    type: written ? written.type : row.type,
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    tookMs: summed_requests === null ? toMs(row.took_us) : null,
    summed: summed_requests === null ? null : { requests: summed_requests, since: row.summed_since ?? received_at },
    attempts: row.attempts === null ? null : Math.max(row.attempts, row.open_number ?? 0),
    // A repeat has the same content as its original, so only that of the original is stored.
    preview: previewOf(row.message_id === null ? row.body : row.message_body),
    isPaused: state === 'QUEUED' && row.connection_state === 'paused',
    channel: row.channel,
    sentAfterMs: null,
    stateThen: row.message_state,
    holdsText: text === null || (row.message_id === null && contentHolds(row.body, text)),
  }
}

/** Why the token of a refused request was no longer valid when the request came. */
export async function findEndedToken(
  tables: Reader,
  { token: used, status, receivedAt }: Pick<FoundEntry, 'token' | 'status' | 'receivedAt'>,
): Promise<EndedToken | null> {
  if (used === null || status !== 401) return null
  const token = await tables
    .selectFrom('token')
    .select(['id', 'account_id as accountId', 'name', 'deleted_at', 'expires_at', 'successor_id'])
    .where('id', '=', used.id)
    .executeTakeFirst()
  if (!token) return null
  const { name, deleted_at, expires_at, successor_id } = token
  if (deleted_at !== null && deleted_at <= receivedAt)
    return { name, how: 'deleted', at: deleted_at, by: await findTokenActor(tables, token, 'token.delete') }
  if (expires_at > receivedAt) return null
  if (successor_id === null) return { name, how: 'expired', at: expires_at, by: null }
  return { name, how: 'replaced', at: expires_at, by: await findTokenActor(tables, token, 'token.rotate') }
}
