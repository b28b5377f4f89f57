import { type Expression, sql } from 'kysely'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { MESSAGE_STATES, type MessageState, type Sequence } from '../../../core/message/message.ts'
import type { LogEntryView, LogFilter } from '../../../core/ports/console/api-log.ts'
import { REASONS, REASONS_IF_FAILED } from '../../../core/reasons.ts'
import { HAS_ENDED_BADLY, shownState } from '../messages/message-view.ts'
import type { Range } from '../newest-first.ts'
import { talliedAs } from '../overview/hour-tally.ts'
import type { Reader } from '../store.ts'
import type { LogHalf } from './backward-scan.ts'
import type { TimedHalf } from './find-time.ts'
import { beginsWith, holds } from './like-pattern.ts'
import { acceptanceTookMs, commitUsOfM, toMs } from './request-duration.ts'

// What every accepted request was answered, and so not kept with each of them.
const ANSWER = { status: 200, code: 'HC-1' } as const
const UNSENT_STATES: ReadonlySet<string> = new Set(['FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED'])

export type FoundEntry = LogEntryView & { readonly sequence: number }

export interface WantedEntries {
  readonly filter: LogFilter
  /** Where they lie, when that is known beforehand. Null: anywhere. */
  readonly only: readonly Sequence[] | null
}

/** The messages of an account: what it asked for and got accepted, and copies that a person made. */
export function acceptedLogSource(
  tables: Reader,
  accountId: AccountId,
  { filter, only }: WantedEntries,
): LogHalf<FoundEntry> & TimedHalf {
  const base = () => selectOnly(selectBase(tables, accountId, filter), only)
  let connections: Promise<readonly ConnectionId[]> | null = null
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
      if (filter.connection !== null) connections ??= connectionsNumbered(tables, accountId, filter.connection)
      const connectionIds = connections && (await connections)
      if (connectionIds?.length === 0) return []
      const rows = base()
        .selectAll()
        .where('sequence', '>=', range.from)
        .where('sequence', '<', range.before)
        .where((fits) => fits.and(conditions(filter)))
        .$if(connectionIds !== null, (query) => query.where('connection_id', 'in', connectionIds ?? []))
        .orderBy('sequence', 'desc')
        .limit(range.limit)
      return (await withNeighbours(tables, rows, range).execute()).map(toEntry)
    },

    // All of the filter can be said to the database.
    fits: () => true,

    async timeOf(sequence) {
      const { accepted_at } = await selectOf(tables, accountId)
        .select('accepted_at')
        .where('sequence', '=', sequence)
        .executeTakeFirstOrThrow()
      return accepted_at
    },

    async firstOf({ from, before }) {
      const row = await selectOf(tables, accountId)
        .select(['sequence', 'accepted_at'])
        .where('sequence', '>=', from)
        .where('sequence', '<', before)
        .orderBy('sequence')
        .limit(1)
        .executeTakeFirst()
      return row ? { sequence: row.sequence, at: row.accepted_at } : null
    },
  }
}

function selectOf(tables: Reader, accountId: AccountId) {
  return tables.selectFrom('message').where('account_id', '=', accountId)
}

type SelectOf = ReturnType<typeof selectOf>

function selectOnly(rows: SelectOf, only: WantedEntries['only']): SelectOf {
  return only === null ? rows : rows.where('sequence', 'in', only)
}

/** As much of the filter as an index answers alone. */
function selectBase(tables: Reader, accountId: AccountId, { view, state, result }: LogFilter): SelectOf {
  const all = selectOf(tables, accountId)
  if (view === 'attention')
    return all.where(HAS_ENDED_BADLY).where('state', '=', sql.lit('UNCONFIRMED')).where('resolved_at', 'is', null)
  if (view === 'failed') return all.where(HAS_ENDED_BADLY).where(sql<boolean>`state in ('FAILED', 'EXPIRED')`)
  if (state === 'SENDING') {
    return all.where('sequence', 'in', (open) =>
      open
        .selectFrom('open_attempt as o')
        .innerJoin('connection as c', 'c.id', 'o.connection_id')
        .select('o.message_sequence')
        .where('c.account_id', '=', accountId),
    )
  }
  const [only, ...others] = result === null ? [] : statesOf(result)
  const one = state ?? (others.length === 0 ? only : undefined)
  return one !== undefined && UNSENT_STATES.has(one)
    ? all.where(HAS_ENDED_BADLY).where(sql<boolean>`state = ${sql.lit(one)}`)
    : all
}

/** As rows have them: of what is being handed over the row says QUEUED too. None for what does not go by the state. */
function statesOf(result: NonNullable<LogFilter['result']>): readonly MessageState[] {
  return MESSAGE_STATES.filter((state) => state !== 'SENDING' && talliedAs(state) === result)
}

/** Counts what a query returns, and tells the last of it. */
export async function countRows(
  tables: Reader,
  rows: Expression<{ sequence: Sequence }>,
): Promise<{ readonly count: number; readonly first: Sequence | null }> {
  const { rows: answer } = await sql<{ count: number; first: number | null }>`
    select count(*) as count, min(sequence) as first from (${rows}) b`.execute(tables)
  const [counted] = answer
  return { count: Number(counted?.count ?? 0), first: counted?.first == null ? null : Number(counted.first) }
}

function conditions(filter: LogFilter) {
  const { state, result, isOpen, tokenId, type, recipient, since, until, id, reason, text, isMasked } = filter
  const wanted = []
  if (state === 'QUEUED') {
    wanted.push(sql<boolean>`state = 'QUEUED' and sequence not in (select message_sequence from open_attempt)`)
  } else if (state === 'SENDING') wanted.push(sql<boolean>`state = 'QUEUED'`)
  else if (state !== null) wanted.push(sql<boolean>`state = ${sql.lit(state)}`)
  const states = result === null ? [] : statesOf(result)
  if (states.length > 0) wanted.push(sql<boolean>`state in (${sql.join(states.map((one) => sql.lit(one)))})`)
  if (isOpen) wanted.push(sql<boolean>`resent_as is null and resolved_at is null`)
  // What a person made came with no request.
  if (filter.statuses !== null) wanted.push(sql<boolean>`request_id is not null`)
  if (tokenId !== null) wanted.push(sql<boolean>`token_id = ${tokenId}`)
  if (type !== null) wanted.push(sql<boolean>`type = ${type}`)
  if (recipient?.isWhole) wanted.push(sql<boolean>`recipient = ${recipient.digits}`)
  else if (recipient) wanted.push(beginsWith('recipient', recipient.digits))
  if (since !== null) wanted.push(sql<boolean>`accepted_at >= ${since}`)
  if (until !== null) wanted.push(sql<boolean>`accepted_at <= ${until}`)
  if (id !== null) wanted.push(sql<boolean>`(request_id = ${id} or id = ${id})`)
  if (reason !== null) wanted.push(sql<boolean>`reason = ${reason}`)
  if (text) wanted.push(toldOf(text, isMasked))
  return wanted.map((condition) => condition as ReturnType<typeof sql<boolean>>)
}

/** In the reason's code, in what it means, and unless masked in the network's words. */
function toldOf(words: string, isMasked: boolean) {
  const sought = words.toLowerCase()
  const meant = [...Object.entries(REASONS), ...Object.entries(REASONS_IF_FAILED)].flatMap(([code, [sentence]]) =>
    code.includes(sought) || sentence.toLowerCase().includes(sought) ? [code] : [],
  )
  const places = [sql<boolean>`reason in (${sql.join(['', ...meant])})`, holds('reason', words)]
  if (!isMasked) places.push(holds('words', words))
  return sql<boolean>`(${sql.join(places, sql` or `)})`
}

/** Removed ones too: what they sent stays in the log. */
export async function connectionsNumbered(tables: Reader, accountId: AccountId, number: string) {
  const rows = await tables
    .selectFrom('connection')
    .select('id')
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .execute()
  return rows.map(({ id }) => id)
}

/** The rows first and what belongs to them after: joined in one, the database may begin with the smaller table and sort. */
function withNeighbours(
  tables: Reader,
  rows: ReturnType<SelectOf['selectAll']>,
  range: Pick<Range, 'from' | 'before'>,
) {
  return tables
    .selectFrom(rows.as('m'))
    .innerJoin('connection as c', 'c.id', 'm.connection_id')
    .leftJoin('token as t', 't.id', 'm.token_id')
    .leftJoin('open_attempt as o', (join) =>
      join.onRef('o.connection_id', '=', 'm.connection_id').onRef('o.message_sequence', '=', 'm.sequence'),
    )
    .select([
      'm.sequence',
      'm.id',
      'm.request_id',
      'm.accepted_at',
      'm.published_at',
      'm.state',
      'm.reason',
      'm.attempts',
      'm.recipient',
      'm.type',
      'm.remote_address',
      'm.user_agent',
      'm.took_us',
      'm.resent_as',
      commitUsOfM(range).as('commit_us'),
      sql<string | null>`case when m.request_id is null or m.resent_as is not null then (
        select c.facts from timeline c where c.message_sequence = m.sequence and c.kind = 'sent-again'
          order by c.position desc limit 1) end`.as('again_facts'),
      't.id as token_id',
      't.name as token_name',
      't.prefix as token_prefix',
      'c.id as connection_id',
      'c.number',
      'o.message_sequence as open_sequence',
      'o.number as open_number',
    ])
    .orderBy('m.sequence', 'desc')
}

/** One message of the account, as the list shows it; null when there is none. */
export async function readMessageEntry(
  tables: Reader,
  accountId: AccountId,
  sequence: number,
): Promise<FoundEntry | null> {
  const rows = selectOf(tables, accountId).selectAll().where('sequence', '=', sequence)
  const row = await withNeighbours(tables, rows, { from: sequence, before: sequence + 1 }).executeTakeFirst()
  return row ? toEntry(row) : null
}

type MessageEntryRow = Awaited<ReturnType<ReturnType<typeof withNeighbours>['execute']>>[number]

function toEntry(row: MessageEntryRow): FoundEntry {
  const by = row.again_facts === null ? null : ((JSON.parse(row.again_facts) as { by?: string }).by ?? null)
  const answer = row.request_id === null ? { status: null, code: null } : ANSWER
  return {
    sequence: row.sequence,
    id: row.id,
    requestId: row.request_id,
    token: toToken(row),
    // Only the acceptance is kept with its time. It comes after the wait for a commit, but for what the commit's
    // earlier rows took: less than a few milliseconds.
    receivedAt: row.accepted_at - Math.round(toMs(row.took_us ?? 0)),
    ...answer,
    outcome: row.request_id === null ? 'copied' : 'accepted',
    madeBy: row.request_id === null ? by : null,
    resentBy: row.resent_as === null ? null : by,
    errors: [],
    messageId: row.id,
    state: shownState(row),
    reason: row.reason,
    connection: row.number,
    connectionId: row.connection_id,
    to: row.recipient,
    type: row.type,
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    tookMs: acceptanceTookMs(row),
    summed: null,
    attempts: Math.max(row.attempts, row.open_number ?? 0),
    publishedAt: row.published_at,
    stateThen: null,
  }
}

export function toToken(row: {
  readonly token_id: NonNullable<LogEntryView['token']>['id'] | null
  readonly token_name: string | null
  readonly token_prefix: string | null
}): LogEntryView['token'] {
  const { token_id: id, token_name: name, token_prefix: prefix } = row
  return id === null || name === null || prefix === null ? null : { id, name, prefix }
}
