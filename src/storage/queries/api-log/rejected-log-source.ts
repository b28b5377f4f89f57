import { sql } from 'kysely'
import type { AccountId, Instant, MessageId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { RequestError } from '../../../core/ports/administration.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import { REFUSALS } from '../../../core/refusals.ts'
import { shownState } from '../messages/message-view.ts'
import type { Range } from '../newest-first.ts'
import type { Reading } from '../store.ts'
import { within } from '../within.ts'
import { connectionsNumbered, countRows, type FoundEntry, toToken, type WantedEntries } from './accepted-log-source.ts'
import type { LogHalf } from './backward-scan.ts'
import type { TimedHalf } from './find-time.ts'
import { holds } from './like-pattern.ts'
import { readFields, toSummed } from './other-requests.ts'
import { toMs } from './request-duration.ts'

// More often than that nobody needs to see that something was repeated.
const MOST_REPEATS = 1_000

/** The requests of an account that made no message: what was refused, and repeats under an idempotency key. */
export function rejectedLogSource(
  reading: Reading,
  accountId: AccountId,
  { filter, only }: WantedEntries,
): LogHalf<FoundEntry> & TimedHalf {
  const { tables } = reading
  let own: ReturnType<typeof connectionsNumbered> | null = null
  const base = () => {
    const rows = selectBase(reading, accountId, filter)
    return only === null ? rows : rows.where('sequence', 'in', only)
  }
  return {
    async count({ from, before }, most) {
      const counted = base()
        .where('sequence', '>=', from)
        .where('sequence', '<', before)
        .select('sequence')
        .orderBy('sequence', 'desc')
        .limit(most)
      return countRows(tables, counted)
    },

    async read(range) {
      // What a caller wrote as the sender may be the recipient, so viewers find it only by a sender of the account.
      if (filter.isMasked && filter.connection !== null) {
        own ??= connectionsNumbered(tables, accountId, filter.connection)
        if ((await own).length === 0) return []
      }
      const rows = base()
        .selectAll()
        .where('sequence', '>=', range.from)
        .where('sequence', '<', range.before)
        .where((fits) => fits.and(conditions(filter)))
        .orderBy('sequence', 'desc')
        .limit(range.limit)
      return (await withNeighbours(reading, rows, range).execute()).map(toEntry)
    },

    fits: (entry) => fits(entry, filter),

    async timeOf(sequence) {
      const { received_at } = await selectOf(reading, accountId)
        .select('received_at')
        .where('sequence', '=', sequence)
        .executeTakeFirstOrThrow()
      return received_at
    },

    async firstOf({ from, before }) {
      const row = await selectOf(reading, accountId)
        .select(['sequence', 'received_at'])
        .where('sequence', '>=', from)
        .where('sequence', '<', before)
        .orderBy('sequence')
        .limit(1)
        .executeTakeFirst()
      return row ? { sequence: row.sequence, at: row.received_at } : null
    },
  }
}

/** Whether a database that looks for this must read what the requests carried, which may be long. */
export function readsBodies({ connection, type, recipient, text }: LogFilter): boolean {
  return connection !== null || type !== null || recipient !== null || text !== null
}

function selectOf({ tables }: Reading, accountId: AccountId) {
  return tables.selectFrom('request').where('account_id', '=', accountId)
}

type SelectOf = ReturnType<typeof selectOf>

/** As much of the filter as an index answers alone. */
function selectBase(reading: Reading, accountId: AccountId, { state }: LogFilter): SelectOf {
  const all = selectOf(reading, accountId)
  return state === null ? all : all.where('message_id', 'is not', null)
}

/**
 * What the database can say of the filter. What callers wrote stands in the body only: there the database looks for the
 * plain text, and `fits` looks at what is left.
 */
function conditions(filter: LogFilter) {
  const { view, result, statuses, tokenId, type, recipient, connection, since, until, text } = filter
  const wanted = []
  if (view === 'rejected' || result !== null) wanted.push(sql<boolean>`message_id is null`)
  if (statuses) wanted.push(sql<boolean>`status between ${statuses.from} and ${statuses.to}`)
  if (tokenId !== null) wanted.push(sql<boolean>`token_id = ${tokenId}`)
  if (since !== null) wanted.push(sql<boolean>`received_at >= ${since}`)
  if (until !== null) wanted.push(sql<boolean>`received_at <= ${until}`)
  for (const written of [connection, recipient?.digits ?? null, type]) {
    if (written !== null) wanted.push(sql<boolean>`(message_id is not null or ${holds('body', written)})`)
  }
  if (text) wanted.push(sql<boolean>`(${sql.join(placesOf(text, filter.isMasked), sql` or `)})`)
  return wanted
}

function placesOf(words: string, isMasked: boolean) {
  // As it stands in JSON.
  if (!isMasked) return [holds('code', words), holds('errors', JSON.stringify(words).slice(1, -1))]
  const codes = Object.keys(REFUSALS).filter((code) => code.includes(words.toLowerCase()))
  return [holds('code', words), ...codes.map((code) => holds('errors', `"code":"${code}"`))]
}

function fits(entry: FoundEntry, { state, type, recipient, connection, text, isMasked }: LogFilter): boolean {
  if (state !== null && entry.state !== state) return false
  if (type !== null && entry.type !== type) return false
  if (connection !== null && entry.connection !== connection) return false
  if (recipient !== null && !isTo(entry.to, recipient)) return false
  return text === null || says(entry, text.toLowerCase(), isMasked)
}

/** A caller may have written a number as people do. */
function isTo(written: string | null, { digits, isWhole }: NonNullable<LogFilter['recipient']>): boolean {
  const to = (written ?? '').replace(/^\+/, '')
  return isWhole ? to === digits : to.startsWith(digits)
}

function says({ code, errors }: FoundEntry, sought: string, isMasked: boolean): boolean {
  const texts = errors.flatMap((error) => [error.code, ...(isMasked ? [] : [error.message, error.field ?? ''])])
  return [code ?? '', ...texts].some((text) => text.toLowerCase().includes(sought))
}

function withNeighbours(
  { tables, engine }: Reading,
  rows: ReturnType<SelectOf['selectAll']>,
  range: Pick<Range, 'from' | 'before'>,
) {
  return tables
    .selectFrom(rows.as('r'))
    .leftJoin('token as t', 't.id', 'r.token_id')
    .leftJoin('message as m', (join) =>
      join
        .onRef('m.id', '=', 'r.message_id')
        .onRef('m.account_id', '=', 'r.account_id')
        .on(within('m.sequence', engine.repeatedBy(range))),
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
      'r.body',
      'r.body_deleted_at',
      'r.summed_requests',
      'r.summed_since',
      'r.message_id',
      'r.message_state',
      'r.remote_address',
      'r.user_agent',
      't.id as token_id',
      't.name as token_name',
      't.prefix as token_prefix',
      'm.state',
      'm.reason',
      'm.attempts',
      'm.published_at',
      'm.recipient',
      'm.type',
      'c.id as connection_id',
      'c.number',
      'o.message_sequence as open_sequence',
      'o.number as open_number',
    ])
    .orderBy('r.sequence', 'desc')
}

/** Where the requests of the account lie that have this id, or repeated the message with this id. */
export async function locateRequests(reading: Reading, accountId: AccountId, id: string): Promise<readonly Sequence[]> {
  const ofRequest = selectOf(reading, accountId).select('sequence').where('request_id', '=', id)
  const ofMessage = selectOf(reading, accountId)
    .select('sequence')
    .where('message_id', '=', id as MessageId)
    .limit(MOST_REPEATS)
  const found = [...(await ofRequest.execute()), ...(await ofMessage.execute())]
  return [...new Set(found.map(({ sequence }) => sequence))]
}

/** A request of the account by its id, as the list shows it, and what it carried; null when there is none. */
export async function readRequestEntry(
  reading: Reading,
  accountId: AccountId,
  requestId: string,
): Promise<{
  readonly entry: FoundEntry
  readonly body: string | null
  readonly bodyDeletedAt: Instant | null
} | null> {
  const found = await selectOf(reading, accountId)
    .select('sequence')
    .where('request_id', '=', requestId)
    .limit(1)
    .executeTakeFirst()
  if (!found) return null
  const { sequence } = found
  const rows = selectOf(reading, accountId).selectAll().where('sequence', '=', sequence)
  const row = await withNeighbours(reading, rows, { from: sequence, before: sequence + 1 }).executeTakeFirst()
  return row ? { entry: toEntry(row), body: row.body, bodyDeletedAt: row.body_deleted_at } : null
}

type RequestEntryRow = Awaited<ReturnType<ReturnType<typeof withNeighbours>['execute']>>[number]

function toEntry(row: RequestEntryRow): FoundEntry {
  const { state, open_sequence } = row
  const written = row.message_id === null ? readFields(row.body) : null
  return {
    sequence: row.sequence,
    id: row.request_id,
    requestId: row.summed_requests === null ? row.request_id : null,
    token: toToken(row),
    receivedAt: row.received_at,
    status: row.status,
    code: row.code,
    outcome: row.message_id === null ? 'refused' : 'repeated',
    madeBy: null,
    resentBy: null,
    errors: row.errors === null ? [] : (JSON.parse(row.errors) as RequestError[]),
    messageId: row.message_id,
    state: state && shownState({ state, open_sequence }),
    reason: row.reason,
    connection: written ? written.from : row.number,
    connectionId: row.connection_id,
    to: written ? written.to : row.recipient,
    type: written ? written.type : row.type,
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    tookMs: row.summed_requests === null ? toMs(row.took_us) : null,
    summed: toSummed(row),
    attempts: row.attempts === null ? null : Math.max(row.attempts, row.open_number ?? 0),
    publishedAt: row.published_at,
    stateThen: row.message_state,
  }
}
