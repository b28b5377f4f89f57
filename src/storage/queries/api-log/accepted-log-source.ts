import { type SqlBool, sql } from 'kysely'
import type { AccountId } from '../../../core/ids.ts'
import { MESSAGE_STATES, type MessageState, type Sequence } from '../../../core/message/message.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import { explainReason, REASONS } from '../../../core/reasons.ts'
import type { Span } from '../engine.ts'
import { HAS_ENDED_BADLY, shownState } from '../messages/message-view.ts'
import { talliedAs } from '../overview/hour-tally.ts'
import type { Reader, Reading } from '../store.ts'
import {
  acceptanceTookMs,
  amongSequences,
  beginsWith,
  type Condition,
  commitUsOfM,
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
import { completeBodies, contentHolds, isPreviewFull, previewOf, startOf, textInBodies } from './request-body.ts'

// Every accepted request was answered like this, so the answer is not stored.
const ANSWER = { status: 200, code: 'HC-1' } as const
const ANY_ROW = sql<SqlBool>`1 = 1`
const UNSENT_STATES: ReadonlySet<string> = new Set(['FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED'])

/**
 * The messages: accepted requests, and copies that a person made. `only` limits the search to some sequences. Null: the
 * filter excludes every message.
 */
export async function acceptedLogSource(
  reading: Reading,
  { accountId, connectionId = null, filter }: LogSearch,
  only: readonly Sequence[] | null,
): Promise<LogSource | null> {
  const { view, result, statuses } = filter
  const excludesAnswer = statuses !== null && (statuses.from > ANSWER.status || statuses.to < ANSWER.status)
  if (view === 'rejected' || result === 'refused' || excludesAnswer || only?.length === 0) return null
  const { tables } = reading
  const text = textInBodies(filter)
  const named = filter.text === null ? ANY_ROW : mentions(filter.text, filter.isMasked)
  const further = conditions(filter, named)
  if (connectionId !== null) further.push(sql`connection_id = ${connectionId}`)
  if (filter.connection !== null) {
    const ids = await connectionsNumbered(tables, accountId, filter.connection)
    if (ids.length === 0) return null
    further.push(sql`connection_id in (${sql.join(ids)})`)
  }
  return createLogSource(reading, {
    table: 'message',
    accountId,
    indexed: [...indexedConditions(filter), ...amongSequences(only)],
    further,
    read: async ({ where, order }, range) => {
      const rows = selectMessages(tables, where, named).orderBy(order).limit(range.limit)
      const found = await withRelated(tables, rows, range).execute()
      const isEnough = (start: string) => isPreviewFull(start) && (text === null || contentHolds(start, text))
      return (await completeBodies(tables, 'message', { rows: found, isEnough })).map((row) => toEntry(row, text))
    },
    fits: ({ holdsText }) => holdsText,
  })
}

function selectMessages(tables: Reader, where: Condition, named: Condition) {
  return tables
    .selectFrom('message')
    .selectAll()
    .select(sql<number>`case when ${named} then 1 else 0 end`.as('is_named'))
    .where(where)
}

/** The parts of the filter that an index answers alone. */
function indexedConditions({ view, state, result }: LogFilter): readonly Condition[] {
  if (view === 'attention') return [HAS_ENDED_BADLY, sql`state = 'UNCONFIRMED'`, sql`resolved_at is null`]
  if (view === 'failed') return [HAS_ENDED_BADLY, sql`state in ('FAILED', 'EXPIRED')`]
  if (state === 'SENDING') return [sql`sequence in (select message_sequence from open_attempt)`]
  const [first, ...others] = result === null ? [] : statesOf(result)
  const one = state ?? (others.length === 0 ? first : undefined)
  return one !== undefined && UNSENT_STATES.has(one) ? [HAS_ENDED_BADLY, sql`state = ${sql.lit(one)}`] : []
}

/** Stored states: the row of a message with an open attempt says QUEUED. Empty for a result that does not depend on the state. */
function statesOf(result: NonNullable<LogFilter['result']>): readonly MessageState[] {
  return MESSAGE_STATES.filter((state) => state !== 'SENDING' && talliedAs(state) === result)
}

function conditions(filter: LogFilter, named: Condition): Condition[] {
  const { state, result, isOpen, tokenIds, type, recipient, since, until, id, reason, text } = filter
  const wanted: Condition[] = []
  if (state === 'QUEUED') {
    wanted.push(sql`state = 'QUEUED' and sequence not in (select message_sequence from open_attempt)`)
  } else if (state === 'SENDING') wanted.push(sql`state = 'QUEUED'`)
  else if (state !== null) wanted.push(sql`state = ${sql.lit(state)}`)
  const states = result === null ? [] : statesOf(result)
  if (states.length > 0) wanted.push(sql`state in (${sql.join(states.map((one) => sql.lit(one)))})`)
  if (isOpen) wanted.push(sql`resent_as is null and resolved_at is null`)
  // A copy that a person made has no request, and so no status.
  if (filter.statuses !== null) wanted.push(sql`request_id is not null`)
  if (tokenIds !== null) wanted.push(sql`token_id in (${sql.join(tokenIds)})`)
  if (type !== null) wanted.push(sql`type = ${type}`)
  if (recipient?.isWhole) wanted.push(sql`recipient = ${recipient.digits}`)
  else if (recipient) wanted.push(beginsWith('recipient', recipient.digits))
  if (since !== null) wanted.push(sql`accepted_at >= ${since}`)
  if (until !== null) wanted.push(sql`accepted_at <= ${until}`)
  if (id !== null) wanted.push(sql`(request_id = ${id} or id = ${id})`)
  if (reason !== null) wanted.push(sql`reason = ${reason}`)
  const inBodies = textInBodies(filter)
  if (text) wanted.push(inBodies === null ? named : sql`(${named} or ${mayHold('body', inBodies)})`)
  return wanted
}

// To fill in the sentences of all reasons takes as long as to search a thousand rows.
const TEXTS_OF_REASONS = Object.keys(REASONS).map((code) => {
  const texts = [explainReason(code), explainReason(code, { state: 'FAILED' })]
  return { code, texts: [code, ...texts.flatMap(({ list, cause }) => [list, cause])].map((text) => text.toLowerCase()) }
})

/** Searches the reason's code, its sentence, and unless masked the network's error text. */
function mentions(text: string, isMasked: boolean): Condition {
  const lower = text.toLowerCase()
  const codes = TEXTS_OF_REASONS.flatMap(({ code, texts }) => (texts.some((one) => one.includes(lower)) ? [code] : []))
  const places = [sql<SqlBool>`reason in (${sql.join(['', ...codes])})`, holds('reason', text)]
  if (!isMasked) places.push(holds('words', text))
  return sql`(${sql.join(places, sql` or `)})`
}

/** Selects the rows before joining: with one flat join, the planner may start from the smaller table and sort. */
function withRelated(tables: Reader, rows: ReturnType<typeof selectMessages>, span: Span) {
  return tables
    .selectFrom(rows.as('m'))
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
      'm.published_at',
      startOf('m.body').as('body'),
      'm.remote_address',
      'm.user_agent',
      'm.took_us',
      'm.resent_as',
      'm.is_named',
      commitUsOfM(span).as('commit_us'),
      sql<string | null>`case when m.request_id is null or m.resent_as is not null then (
        select c.facts from timeline c where c.message_sequence = m.sequence and c.kind = 'sent-again'
          order by c.position desc limit 1) end`.as('again_facts'),
      ...RELATED_COLUMNS,
    ])
    .orderBy('m.sequence', 'desc')
}

/** One message of the account as the list shows it; null when there is none. */
export async function readMessageEntry(
  tables: Reader,
  accountId: AccountId,
  sequence: Sequence,
): Promise<FoundEntry | null> {
  const rows = selectMessages(tables, sql`account_id = ${accountId} and sequence = ${sequence}`, ANY_ROW)
  const row = await withRelated(tables, rows, { from: sequence, before: sequence + 1 }).executeTakeFirst()
  return row ? toEntry(row, null) : null
}

type MessageEntryRow = Awaited<ReturnType<ReturnType<typeof withRelated>['execute']>>[number]

function toEntry(row: MessageEntryRow, text: string | null): FoundEntry {
  const by = row.again_facts === null ? null : ((JSON.parse(row.again_facts) as { by?: string }).by ?? null)
  const answer = row.request_id === null ? { status: null, code: null } : ANSWER
  return {
    sequence: row.sequence,
    account: row.account_name,
    countedAt: row.accepted_at,
    id: row.id,
    requestId: row.request_id,
    token: toToken(row),
    // Only the time of the acceptance is stored. It comes after the wait for a commit, except for the few milliseconds
    // that the earlier rows of the commit took.
    receivedAt: row.accepted_at - Math.round(toMs(row.took_us ?? 0)),
    ...answer,
    outcome: row.request_id === null ? 'copied' : 'accepted',
    madeBy: row.request_id === null ? by : null,
    resentBy: row.resent_as === null ? null : by,
    errors: [],
    messageId: row.id,
    state: shownState(row),
    reason: row.reason,
    reasonWords: row.words,
    connection: row.number,
    connectionId: row.connection_id,
    connectionName: row.connection_name,
    to: row.recipient,
    type: row.type,
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    tookMs: acceptanceTookMs(row),
    summed: null,
    attempts: Math.max(row.attempts, row.open_number ?? 0),
    preview: previewOf(row.body),
    isPaused: shownState(row) === 'QUEUED' && row.connection_state === 'paused',
    channel: row.channel,
    sentAfterMs: row.published_at === null ? null : row.published_at - row.accepted_at,
    stateThen: null,
    holdsText: row.is_named === 1 || (text !== null && contentHolds(row.body, text)),
  }
}
