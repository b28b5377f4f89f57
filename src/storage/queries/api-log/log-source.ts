import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { MessageState, Sequence } from '../../../core/message/message.ts'
import type { LogEntryView, LogFilter } from '../../../core/ports/console/api-log.ts'
import type { Range, Span } from '../engine.ts'
import type { LongTable } from '../overview/lower-bound-by-time.ts'
import type { Reader, Reading } from '../store.ts'
import { requestsOfRow } from './count-requests.ts'

// More rows than one commit ever holds.
const LONGEST_COMMIT = 1_000_000

// The API log has no table of its own, so that an acceptance writes one row only: an accepted request is the row of its
// message, every other request is a row of `request`. A source reads one of the two tables.

export type FoundEntry = LogEntryView & {
  readonly sequence: Sequence
  readonly account: string
  /** The time at which it is counted: for a message its acceptance, a moment after its request came. */
  readonly countedAt: Instant
  /** True: the content of the message contains the text of the search, or the search has no text. */
  readonly holdsText: boolean
}

export interface LogSearch {
  /** Null: all accounts. */
  readonly accountId: AccountId | null
  /** Only messages of this connection. Null: no matter which. */
  readonly connectionId?: ConnectionId | null
  readonly filter: LogFilter
}

export interface LogRow {
  readonly sequence: Sequence
}

export interface LogSource<Row extends LogRow = FoundEntry> {
  /** Counts backwards from the end of the span. `first` is the oldest row that was counted; null when there is none. */
  count(span: Span, most: number): Promise<{ readonly count: number; readonly first: Sequence | null }>
  /** The rows of the range that the database can match, by descending sequence, no more than its limit. */
  read(range: Range): Promise<readonly Row[]>
  /** Whether a row that was read matches the parts of the filter that the database cannot check. */
  fits(row: Row): boolean
  timeOf(sequence: Sequence): Promise<Instant>
  /** The rows of the span that match, by state and by steps of time. Only where the database checks the whole filter. */
  countByStep(span: Span, step: TimeStep): Promise<readonly StepCount[]>
}

/** Steps begin at multiples of their length by a clock that is ahead of UTC by the offset. */
export interface TimeStep {
  readonly ms: number
  readonly offsetMs: number
}

export interface StepCount {
  readonly at: Instant
  /** Null for requests that made no message. */
  readonly state: MessageState | null
  readonly count: number
}

export type Condition = RawBuilder<SqlBool>

interface SourceParts {
  readonly table: LongTable
  readonly accountId: AccountId | null
  /** The parts of the search that an index answers alone. */
  readonly indexed: readonly Condition[]
  readonly further: readonly Condition[]
  /** Rows that match, in this order. */
  readonly read: (
    rows: { readonly where: Condition; readonly order: RawBuilder<unknown> },
    range: Range,
  ) => Promise<readonly FoundEntry[]>
  readonly fits: (row: FoundEntry) => boolean
}

export function createLogSource({ tables, engine }: Reading, parts: SourceParts): LogSource {
  const { table, accountId, indexed, further, read, fits } = parts
  const order = accountId === null ? sql`sequence desc` : sql`account_id desc, sequence desc`
  const inSpan = (span: Span) =>
    accountId === null
      ? sql<SqlBool>`sequence >= ${span.from} and sequence < ${span.before}`
      : engine.ofAccount(accountId, span)
  return {
    async count(span, most) {
      const { rows } = await sql<{ count: number; first: number | null }>`
        select count(*) as count, min(sequence) as first from (
          select sequence from ${sql.table(table)} where ${allOf([...indexed, inSpan(span)])}
          order by ${order} limit ${most}) b`.execute(tables)
      const [counted] = rows
      return { count: Number(counted?.count ?? 0), first: counted?.first == null ? null : Number(counted.first) }
    },

    read: (range) => read({ where: allOf([...indexed, ...further, inSpan(range)]), order }, range),

    fits,

    async timeOf(sequence) {
      const { at } = await tables
        .selectFrom(table)
        .select(sql<Instant>`${sql.ref(table === 'message' ? 'accepted_at' : 'received_at')}`.as('at'))
        .where('sequence', '=', sequence)
        .executeTakeFirstOrThrow()
      return at
    },

    async countByStep(span, { ms, offsetMs }) {
      const time =
        table === 'message' ? sql`accepted_at + ${sql.lit(offsetMs)}` : sql`received_at + ${sql.lit(offsetMs)}`
      const at = sql`${time} - (${time}) % ${sql.lit(ms)} - ${sql.lit(offsetMs)}`
      const columns =
        table === 'message' ? sql`state, 1 as requests` : sql`null as state, ${requestsOfRow()} as requests`
      const where = allOf([...indexed, ...further, inSpan(span)])
      const { rows } = await sql<StepCount>`select at, state, sum(requests) as count
        from (select ${at} as at, ${columns} from ${sql.table(table)} where ${where}) rows_of_span
        group by at, state`.execute(tables)
      return rows
    },
  }
}

function allOf(conditions: readonly Condition[]): Condition {
  return sql<SqlBool>`(${sql.join(conditions, sql` and `)})`
}

export function amongSequences(only: readonly Sequence[] | null): readonly Condition[] {
  return only === null ? [] : [sql`sequence in (${sql.join(only)})`]
}

/** Removed connections too: their messages stay in the log. */
export async function connectionsNumbered(tables: Reader, accountId: AccountId | null, number: string) {
  const rows = await tables
    .selectFrom('connection')
    .select('id')
    .where('number', '=', number)
    .$if(accountId !== null, (query) => query.where('account_id', '=', accountId as AccountId))
    .execute()
  return rows.map(({ id }) => id)
}

/** Columns of the account `a`, the token `t`, the message `m`, its connection `c` and its open attempt `o`. */
export const RELATED_COLUMNS = [
  'a.name as account_name',
  't.id as token_id',
  't.name as token_name',
  't.prefix as token_prefix',
  't.deleted_at as token_deleted_at',
  'm.state',
  'm.reason',
  'm.words',
  'm.attempts',
  'm.recipient',
  'm.type',
  'c.id as connection_id',
  'c.number',
  'c.name as connection_name',
  'c.channel',
  'c.state as connection_state',
  'o.message_sequence as open_sequence',
  'o.number as open_number',
] as const

export function toToken(row: {
  readonly token_id: NonNullable<LogEntryView['token']>['id'] | null
  readonly token_name: string | null
  readonly token_prefix: string | null
  readonly token_deleted_at: Instant | null
}): LogEntryView['token'] {
  const { token_id: id, token_name: name, token_prefix: prefix, token_deleted_at: deletedAt } = row
  return id === null || name === null || prefix === null ? null : { id, name, prefix, deletedAt }
}

/**
 * Whether a column contains a text, ignoring case. Some databases lower only the letters A to Z; there other letters must
 * match exactly.
 */
export function holds(column: string, text: string): RawBuilder<SqlBool> {
  const forms = new Set([text.toLowerCase(), text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())])
  const places = [...forms].map(
    (form) => sql<SqlBool>`lower(${sql.ref(column)}) like ${`%${escaped(form)}%`} escape '\\'`,
  )
  return sql<SqlBool>`(${sql.join(places, sql` or `)})`
}

// All but these characters may be written in several ways in JSON.
const OFTEN_ESCAPED = /[^a-z0-9.,:;!?()_*#%@$-]+/i

/** Whether a body may say a text, however its caller wrote the JSON. It may also stand in another field: `contentHolds` decides. */
export function mayHold(column: string, text: string): Condition {
  // Split first: some letters, such as İ, become an ASCII letter and more, which the database need not make of them.
  const parts = text.split(OFTEN_ESCAPED).map((part) => escaped(part.toLowerCase()))
  return sql<SqlBool>`lower(${sql.ref(column)}) like ${`%${parts.join('%')}%`} escape '\\'`
}

export function beginsWith(column: string, text: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} like ${`${escaped(text)}%`} escape '\\'`
}

function escaped(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/**
 * How long the commit took in which the message `m` of an outer query was accepted. Null until the next commit, which
 * writes the row of this one. The span of `m` limits the search to the commits of its time.
 */
export function commitUsOfM({ from, before }: Span) {
  return sql<number | null>`(select case when k.first_sequence <= m.sequence then k.took_us end
    from accept_commit k where k.last_sequence >= m.sequence
      and k.last_sequence >= ${from} and k.last_sequence < ${before + LONGEST_COMMIT} order by k.last_sequence limit 1)`
}

/** From the arrival of an accepted request until its commit was durable. Null until both parts are known. */
export function acceptanceTookMs(row: {
  readonly took_us: number | null
  readonly commit_us: number | null
}): number | null {
  return row.took_us === null || row.commit_us === null ? null : toMs(row.took_us + row.commit_us)
}

/** To a tenth of a millisecond. */
export function toMs(us: number): number {
  return Math.round(us / 100) / 10
}
