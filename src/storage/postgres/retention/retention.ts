import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Removed, RemovedKind, WalkOf } from '../../../core/ports/retention.ts'
import {
  AgeRetention,
  ALL_ACCOUNTS,
  type Given,
  type Job,
  type KeptBack,
  type Statement,
  type Step,
  type Task,
} from '../../queries/retention/age-retention.ts'
import { COLUMNS, decideRows, type WalkedRow } from '../../queries/retention/aging-rows.ts'
import { textArray } from '../connection/binary-arrays.ts'
import { type Query, type Row, StatementRefused } from '../connection/pg-connection.ts'
import { PERIOD_LENGTH, periodOf } from './periods.ts'

// Runs on a connection of its own, so other statements wait only for its row locks and for the disk.
const AIM_MS = 50
const MOST_ROWS = 2_000

/** Deletes by age on PostgreSQL: whole days when all of their messages are finished, and everything else row by row. */
export class PostgresRetention extends AgeRetention {
  readonly aimMs = AIM_MS
  readonly mostRows = MOST_ROWS
  readonly #query: Query

  constructor(query: Query) {
    super()
    this.#query = query
  }

  protected query({ sql, values }: Statement): Promise<Row[]> {
    return this.#query(sql, values)
  }

  protected async run<Result>(job: Job<Result>): Promise<Result> {
    let next = job.next([])
    while (!next.done) {
      const answer = await this.query(next.value).catch((error: unknown) => ({ error }))
      next = 'error' in answer ? job.throw(answer.error) : job.next(answer)
    }
    return next.value
  }

  protected trims(table: Task<'trim'>['table']): readonly string[] {
    return TRIMS[table]
  }

  /** Each query names the sequences of one day, so that the server reads that day's partition alone. */
  protected *walk({ what, accountId, before }: Task<'walk'>, { now, limit }: Given): Job<Step> {
    const mark = yield* this.readPosition(accountId, what)
    const end = yield* this.#endOfWalk({ what, accountId, before })
    for (let [from, period] = [mark, periodOf(mark)]; ; ) {
      // One account may have few rows in hundreds of days. The index by account finds them with one query.
      const past = accountId === null ? Math.min(end, (period + 1) * PERIOD_LENGTH) : end
      const rows = yield* this.#read(what, { accountId, from, past, limit })
      if (rows.length > 0) {
        const decided = decideRows(rows, { what, before, now })
        const removed = yield* this.#remove(what, decided, { now, mark: { accountId, to: decided.mark } })
        return { removed, isThrough: decided.isThrough, cursor: null }
      }
      if (accountId !== null) return { removed: {}, isThrough: true, cursor: null }
      const [next] = yield statement('select min(number) as number from period where number > $1', [period])
      const number = next?.['number'] as number | null | undefined
      if (number == null || number * PERIOD_LENGTH >= end) return { removed: {}, isThrough: true, cursor: null }
      period = number
      from = number * PERIOD_LENGTH - 1
    }
  }

  /**
   * Whole days are dropped. Rows are deleted one by one only in days that are old enough but could not be dropped, and in
   * period 0, whose copied rows are from many days.
   */
  *#endOfWalk({ what, accountId, before }: Omit<Task<'walk'>, 'do'>): Job<number> {
    if (what.endsWith('.body') || accountId !== null) return Number.MAX_SAFE_INTEGER
    const [row] = yield statement(
      `select greatest(1, min(number)) as number from (${DAYS}) p where ends_at is null or ends_at > $1`,
      [before],
    )
    return ((row?.['number'] as number | null) ?? 1) * PERIOD_LENGTH
  }

  *#read(
    what: WalkOf,
    { accountId, from, past, limit }: { accountId: AccountId | null; from: number; past: number; limit: number },
  ): Job<readonly WalkedRow[]> {
    const table = what.startsWith('message') ? 'message' : 'request'
    const ofAccount = accountId === null ? '' : 'm.account_id = $1 and '
    const order = accountId === null ? 'm.sequence' : 'm.account_id, m.sequence'
    return (yield statement(
      `select ${COLUMNS[what]} from ${table} m where ${ofAccount}m.sequence > ${from} and m.sequence < ${past}
         order by ${order} limit ${limit}`,
      accountId === null ? [] : [accountId],
    )) as unknown as readonly WalkedRow[]
  }

  *#remove(
    what: WalkOf,
    { remove, keepBack }: Pick<ReturnType<typeof decideRows>, 'remove' | 'keepBack'>,
    { now, mark }: { readonly now: Instant; readonly mark: { accountId: AccountId | null; to: number | null } | null },
  ): Job<Removed> {
    const rest = keepBackAndMark(what, { keepBack, accountId: mark?.accountId ?? ALL_ACCOUNTS, to: mark?.to ?? null })
    const { kind, sql } = REMOVALS[what]
    const [row] = yield statement(`${sql}${rest.sql} select (select count(*) from gone)::integer as gone`, [
      remove.map(({ sequence }) => sequence),
      now,
      ...rest.values,
    ])
    return { [kind]: (row?.['gone'] as number | undefined) ?? 0 }
  }

  protected *readKept(what: WalkOf, kept: readonly KeptBack[]): Job<readonly WalkedRow[]> {
    const sequences = kept.map(({ sequence }) => sequence)
    const rows = yield statement(`select ${COLUMNS[what]} from message m where m.sequence = any ($1)`, [sequences])
    return rows as unknown as readonly WalkedRow[]
  }

  protected removeKept(what: WalkOf, remove: readonly WalkedRow[], now: Instant): Job<Removed> {
    return this.#remove(what, { remove, keepBack: [] }, { now, mark: null })
  }

  protected *forgetKept(what: WalkOf, kept: readonly KeptBack[]): Job<void> {
    const sequences = kept.map(({ sequence }) => sequence)
    yield statement('delete from retention_kept where message_sequence = any ($1) and what = $2', [sequences, what])
  }

  /** Drops one day, or deletes some of the rows that must go before it. The cursor is the last day that was tried. */
  protected *dropDays({ before }: Task<'drop-days'>, { limit, cursor }: Given): Job<Step> {
    const [day] = yield statement(
      `select number from (${DAYS}) p where ends_at <= $1 and number > $2 order by number limit 1`,
      [before, cursor ?? -1],
    )
    const number = day?.['number'] as number | undefined
    if (number === undefined) return { removed: {}, isThrough: true, cursor: null }
    const ofDay = (column: string) =>
      `${column} >= ${number * PERIOD_LENGTH} and ${column} < ${(number + 1) * PERIOD_LENGTH}`
    const [blocked] = yield statement(
      `select exists (select from queued where ${ofDay('sequence')})
           or exists (select from open_attempt where ${ofDay('message_sequence')})
           or exists (select from retention_kept where ${ofDay('message_sequence')})
           or exists (select from settled where state = 'UNCONFIRMED' and resolved_at is null and ${ofDay('sequence')}) as is`,
    )
    if (blocked?.['is'] === true) return { removed: {}, isThrough: false, cursor: `${number}` }
    const media = yield statement(
      `delete from media where message_sequence in (
         select message_sequence from media where ${ofDay('message_sequence')} and state <> 'ready' limit ${limit}) returning 1`,
    )
    if (media.length === limit) return { removed: {}, isThrough: false, cursor }
    return yield* this.#drop(number)
  }

  *#drop(number: number): Job<Step> {
    const [rows] = yield statement(
      `select greatest(0, (select reltuples from pg_class where oid = to_regclass($1)))::bigint as messages,
         greatest(0, (select reltuples from pg_class where oid = to_regclass($2)))::bigint as requests`,
      [`settled_p${number}`, `request_p${number}`],
    )
    try {
      const [dropped] = yield statement('select drop_period($1) as is', [number])
      const removed = dropped?.['is'] === true ? { days: 1, ...(rows as { messages: number; requests: number }) } : {}
      return { removed, isThrough: false, cursor: `${number}` }
    } catch (error) {
      // Another session holds a lock of these tables for long. Waiting would block others, so the next sweep tries again.
      if (error instanceof StatementRefused && error.kind === 'contended')
        return { removed: {}, isThrough: false, cursor: `${number}` }
      throw error
    }
  }
}

const DAYS = 'select number, lead(starts_at) over (order by number) as ends_at from period'

const TRIMS: Readonly<Record<Task<'trim'>['table'], readonly string[]>> = {
  waits: [
    `delete from standstill where ctid = any (array(select ctid from standstill where until < $1 order by until limit $2)) returning 1`,
  ],
  audit: [
    `delete from audit where sequence in (select sequence from (select sequence, at from audit order by sequence limit $2) f where at < $1) returning 1`,
  ],
  tallies: ['tally', 'tally_reason', 'tally_hour'].map(
    (table) =>
      `delete from ${table} where ctid = any (array(select ctid from ${table} where hour < $1 order by hour limit $2)) returning 1`,
  ),
}

function statement(sql: string, values: readonly unknown[] = []): Statement {
  return { sql, values }
}

/** Locks the last message first, as all transactions do, and takes each by its key. */
const lastFirst = (table: string, sequence: string): string =>
  `${sequence} = any (array(select ${sequence} from ${table} where ${sequence} = any ($1::bigint[])
     order by ${sequence} desc for update))`

/** One statement for each walk: `$1` the sequences, `$2` now. `gone` has the removed rows. */
const REMOVALS: Readonly<Record<WalkOf, { readonly kind: RemovedKind; readonly sql: string }>> = {
  'message.body': {
    kind: 'bodies',
    sql: `with gone as (
        update settled set body = '', body_crc = 0, body_deleted_at = $2::bigint
          where ${lastFirst('settled', 'sequence')} and body_deleted_at is null returning 1
      ), addresses as (
        update media set url = '' where ${lastFirst('media', 'message_sequence')}
      )`,
  },
  message: {
    kind: 'messages',
    sql: `with given as (select $2::bigint), gone as (
        delete from settled where ${lastFirst('settled', 'sequence')} returning 1
      ), attempts as (
        delete from ended_attempt where message_sequence = any ($1::bigint[])
      ), entries as (
        delete from timeline where message_sequence = any ($1::bigint[])
      ), files as (
        delete from media where ${lastFirst('media', 'message_sequence')}
      ), kept as (
        delete from retention_kept where message_sequence = any ($1::bigint[])
      )`,
  },
  'request.body': {
    kind: 'bodies',
    sql: `with gone as (
        update request set body = null, body_deleted_at = $2::bigint
          where sequence = any ($1::bigint[]) and body is not null returning 1
      )`,
  },
  request: {
    kind: 'requests',
    sql: `with given as (select $2::bigint), gone as (
        delete from request where sequence = any ($1::bigint[]) returning 1
      )`,
  },
}

/** Part of the same statement: stores the kept messages, and how far the walk has come. */
function keepBackAndMark(
  what: WalkOf,
  {
    keepBack,
    accountId,
    to,
  }: { readonly keepBack: readonly WalkedRow[]; readonly accountId: string; readonly to: number | null },
): { readonly sql: string; readonly values: readonly unknown[] } {
  const values: unknown[] = []
  const value = (given: unknown): string => `$${values.push(given) + 2}`
  let sql = ''
  if (keepBack.length > 0) {
    const accounts = value(textArray(keepBack.map((row) => row.account_id)))
    const sequences = value(keepBack.map((row) => row.sequence))
    sql += `, kept_back as (
      insert into retention_kept (account_id, message_sequence, what)
        select a, s, ${value(what)} from unnest(${accounts}::text[], ${sequences}::bigint[]) k (a, s) on conflict do nothing)`
  }
  if (to !== null) {
    sql += `, mark as (
      insert into retention_mark (account_id, what, position) values (${value(accountId)}, ${value(what)}, ${value(to)}::bigint)
        on conflict (account_id, what) do update set position = greatest(retention_mark.position, excluded.position))`
  }
  return { sql, values }
}
