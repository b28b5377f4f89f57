import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Retention, RetentionState, RetentionStep, RetentionTask, WalkOf } from '../../../core/ports/retention.ts'
import type { OwnTimes } from '../../../core/retention/retention-times.ts'
import { COLUMNS, decideAgain, decideRows, type WalkedRow } from '../../queries/retention/aging-rows.ts'
import { READ_STATE, toRetentionState } from '../../queries/retention/retention-state.ts'
import type { Query, Row } from '../connection/pg-connection.ts'
import { StatementRefused } from '../connection/pg-connection.ts'
import { PERIOD_LENGTH, periodOf } from './periods.ts'
import { keepBackAndMark, REMOVALS } from './retention-statements.ts'

// Runs on a connection of its own, so other statements wait only for its row locks and for the disk.
const AIM_MS = 50
const MOST_ROWS = 2_000
const ALL = ''

type Given = Parameters<Retention['step']>[1]
type Step = Omit<RetentionStep, 'tookMs'>
type Task<Do extends RetentionTask['do']> = Extract<RetentionTask, { do: Do }>

/** Deletes by age on PostgreSQL: whole days when all of their messages are finished, and everything else row by row. */
export class PostgresRetention implements Retention {
  readonly aimMs = AIM_MS
  readonly mostRows = MOST_ROWS
  readonly #ask: Query

  constructor(ask: Query) {
    this.#ask = ask
  }

  async read(now: Instant): Promise<RetentionState> {
    return toRetentionState((await this.#ask(READ_STATE))[0], now)
  }

  async readOwnTimes(): Promise<ReadonlyMap<AccountId, OwnTimes>> {
    const rows = await this.#ask(
      'select account_id as id, bodies_days as "bodiesDays", messages_days as "messagesDays" from account_retention order by account_id',
    )
    return new Map((rows as unknown as ({ id: AccountId } & OwnTimes)[]).map(({ id, ...times }) => [id, times]))
  }

  async takeTurn(owner: string, now: Instant, forMs: number): Promise<boolean> {
    // A lease that lasts longer than possible was acquired before the clock was set back.
    const rows = await this.#ask(
      `update retention_state set swept_by = $1, swept_until = $3
         where swept_until <= $2 or swept_by = $1 or swept_until > $2 + $4::bigint returning 1`,
      [owner, now, now + forMs, 2 * forMs],
    )
    return rows.length > 0
  }

  async giveTurnBack(owner: string): Promise<void> {
    await this.#ask('update retention_state set swept_until = 0 where swept_by = $1', [owner])
  }

  async postpone(until: Instant, why: RetentionState['waitsFor']): Promise<void> {
    await this.#ask('update retention_state set begins_at = $1, waits_for = $2', [until, why])
  }

  async finish(
    owner: string,
    { begunAt, endedAt, tookMs, removed }: NonNullable<RetentionState['last']>,
  ): Promise<boolean> {
    const rows = await this.#ask(
      `update retention_state set begun_at = $1, ended_at = $2, took_ms = $3, counts = $4
         where swept_by = $5 returning 1`,
      [begunAt, endedAt, tookMs, JSON.stringify(removed), owner],
    )
    return rows.length > 0
  }

  async step(task: RetentionTask, given: Given): Promise<RetentionStep> {
    const begunAt = performance.now()
    return { ...(await this.#stepNow(task, given)), tookMs: performance.now() - begunAt }
  }

  #stepNow(task: RetentionTask, given: Given): Promise<Step> {
    switch (task.do) {
      case 'walk':
        return this.#walk(task, given)
      case 'look-again':
        return this.#recheck(task, given)
      case 'drop-days':
        return this.#dropDay(task, given)
      case 'trim-inbox':
        return this.#trimInbox(task, given)
      case 'trim':
        return this.#trim(task, given)
    }
  }

  /** Each query names the sequences of one day, so that the server reads that day's partition alone. */
  async #walk({ what, accountId, before }: Task<'walk'>, { now, limit }: Given): Promise<Step> {
    const mark = await this.#markOf(accountId, what)
    const end = await this.#endOfWalk({ what, accountId, before })
    for (let [from, period] = [mark, periodOf(mark)]; ; ) {
      // One account may have few rows in hundreds of days. The index by account finds them with one query.
      const past = accountId === null ? Math.min(end, (period + 1) * PERIOD_LENGTH) : end
      const rows = await this.#read(what, { accountId, from, past, limit })
      if (rows.length > 0) {
        const decided = decideRows(rows, { what, before, now })
        const removed = await this.#remove(what, decided, { now, mark: { accountId, to: decided.mark } })
        return { removed, isThrough: decided.isThrough, cursor: null }
      }
      if (accountId !== null) return { removed: {}, isThrough: true, cursor: null }
      const [next] = await this.#ask('select min(number) as number from period where number > $1', [period])
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
  async #endOfWalk({ what, accountId, before }: Omit<Task<'walk'>, 'do'>): Promise<number> {
    if (what.endsWith('.body') || accountId !== null) return Number.MAX_SAFE_INTEGER
    const [row] = await this.#ask(
      `select greatest(1, min(number)) as number from (${DAYS}) p where ends_at is null or ends_at > $1`,
      [before],
    )
    return ((row?.['number'] as number | null) ?? 1) * PERIOD_LENGTH
  }

  async #read(
    what: WalkOf,
    { accountId, from, past, limit }: { accountId: AccountId | null; from: number; past: number; limit: number },
  ): Promise<readonly WalkedRow[]> {
    const table = what.startsWith('message') ? 'message' : 'request'
    const ofAccount = accountId === null ? '' : 'm.account_id = $1 and '
    const order = accountId === null ? 'm.sequence' : 'm.account_id, m.sequence'
    return (await this.#ask(
      `select ${COLUMNS[what]} from ${table} m where ${ofAccount}m.sequence > ${from} and m.sequence < ${past}
         order by ${order} limit ${limit}`,
      accountId === null ? [] : [accountId],
    )) as unknown as readonly WalkedRow[]
  }

  async #remove(
    what: WalkOf,
    { remove, keepBack }: Pick<ReturnType<typeof decideRows>, 'remove' | 'keepBack'>,
    { now, mark }: { readonly now: Instant; readonly mark: { accountId: AccountId | null; to: number | null } | null },
  ) {
    const rest = keepBackAndMark(what, { keepBack, accountId: mark?.accountId ?? ALL, to: mark?.to ?? null })
    const { kind, sql } = REMOVALS[what]
    const [row] = await this.#ask(`${sql}${rest.sql} select (select count(*) from gone)::integer as gone`, [
      remove.map(({ sequence }) => sequence),
      now,
      ...rest.values,
    ])
    return { [kind]: (row?.['gone'] as number | undefined) ?? 0 }
  }

  async #recheck({ what, before }: Task<'look-again'>, { now, limit, cursor }: Given): Promise<Step> {
    const [account = '', sequence = '0'] = (cursor ?? '').split(' ')
    const kept = (await this.#ask(
      `select account_id as account, message_sequence as sequence from retention_kept
         where (account_id, message_sequence) > ($1, $2::bigint) and what = $3 order by account_id, message_sequence limit $4`,
      [account, sequence, what, limit],
    )) as unknown as { account: AccountId; sequence: number }[]
    const last = kept.at(-1)
    if (!last) return { removed: {}, isThrough: true, cursor: null }
    const rows = (await this.#ask(`select ${COLUMNS[what]} from message m where m.sequence = any ($1)`, [
      kept.map((each) => each.sequence),
    ])) as unknown as readonly WalkedRow[]
    const going = decideAgain(rows, { before, now })
    const removed = await this.#remove(what, { remove: going, keepBack: [] }, { now, mark: null })
    const staying = new Set(rows.filter((row) => !going.includes(row)).map((row) => row.sequence))
    const done = kept.filter((each) => !staying.has(each.sequence)).map((each) => each.sequence)
    await this.#ask('delete from retention_kept where message_sequence = any ($1) and what = $2', [done, what])
    return { removed, isThrough: kept.length < limit, cursor: `${last.account} ${last.sequence}` }
  }

  /** One day, or a part of what has to go row by row before it. The cursor is the last day that was tried. */
  async #dropDay({ before }: Task<'drop-days'>, { limit, cursor }: Given): Promise<Step> {
    const [day] = await this.#ask(
      `select number from (${DAYS}) p where ends_at <= $1 and number > $2 order by number limit 1`,
      [before, cursor ?? -1],
    )
    const number = day?.['number'] as number | undefined
    if (number === undefined) return { removed: {}, isThrough: true, cursor: null }
    const ofDay = (column: string) =>
      `${column} >= ${number * PERIOD_LENGTH} and ${column} < ${(number + 1) * PERIOD_LENGTH}`
    const [blocked] = await this.#ask(
      `select exists (select from queued where ${ofDay('sequence')})
           or exists (select from open_attempt where ${ofDay('message_sequence')})
           or exists (select from retention_kept where ${ofDay('message_sequence')})
           or exists (select from settled where state = 'UNCONFIRMED' and resolved_at is null and ${ofDay('sequence')}) as is`,
    )
    if (blocked?.['is'] === true) return { removed: {}, isThrough: false, cursor: `${number}` }
    const media = await this.#ask(
      `delete from media where message_sequence in (
         select message_sequence from media where ${ofDay('message_sequence')} and state <> 'ready' limit ${limit}) returning 1`,
    )
    if (media.length === limit) return { removed: {}, isThrough: false, cursor }
    return this.#drop(number)
  }

  async #drop(number: number): Promise<Step> {
    const [rows] = await this.#ask(
      `select greatest(0, (select reltuples from pg_class where oid = to_regclass($1)))::bigint as messages,
         greatest(0, (select reltuples from pg_class where oid = to_regclass($2)))::bigint as requests`,
      [`settled_p${number}`, `request_p${number}`],
    )
    try {
      const [dropped] = await this.#ask('select drop_period($1) as is', [number])
      const removed = dropped?.['is'] === true ? { days: 1, ...(rows as { messages: number; requests: number }) } : {}
      return { removed, isThrough: false, cursor: `${number}` }
    } catch (error) {
      // Another session holds a lock of these tables for long. Waiting would block others, so the next sweep tries again.
      if (error instanceof StatementRefused && error.kind === 'contended')
        return { removed: {}, isThrough: false, cursor: `${number}` }
      throw error
    }
  }

  /** By connection. The cursor is the connection to continue with. */
  async #trimInbox({ before }: Task<'trim-inbox'>, { limit, cursor }: Given): Promise<Step> {
    const [connection] = await this.#ask(
      `select id, account_id as account from connection where channel = 'sandbox' and id ${cursor?.startsWith('=') ? '>=' : '>'} $1 order by id limit 1`,
      [cursor?.slice(1) ?? ''],
    )
    if (!connection) return { removed: {}, isThrough: true, cursor: null }
    const end = before(connection['account'] as AccountId)
    const gone =
      end === null
        ? []
        : await this.#ask(
            `delete from channel_memory where position in (
               select position from (select position, at from channel_memory
                 where kind = 'sandbox.inbox' and connection_id = $1 order by position limit $2) f where at < $3) returning key`,
            [connection['id'], limit, end],
          )
    return {
      removed: { inbox: gone.length },
      isThrough: false,
      cursor: `${gone.length === limit ? '=' : '>'}${connection['id'] as string}`,
      deliveries: gone.map((row: Row) => String(row['key']).split('#')[0] ?? ''),
    }
  }

  async #trim({ table, before }: Task<'trim'>, { limit }: Given): Promise<Step> {
    let removed = 0
    for (const sql of TRIMS[table]) removed += (await this.#ask(sql, [before, limit])).length
    return { removed: { [table]: removed }, isThrough: removed < limit, cursor: null }
  }

  async #markOf(accountId: AccountId | null, what: WalkOf): Promise<number> {
    const [row] = await this.#ask('select position from retention_mark where account_id = $1 and what = $2', [
      accountId ?? ALL,
      what,
    ])
    return (row?.['position'] as number | undefined) ?? 0
  }
}

const DAYS = 'select number, lead(starts_at) over (order by number) as ends_at from period'

const TRIMS: Readonly<Record<Task<'trim'>['table'], readonly string[]>> = {
  audit: [
    `delete from audit where sequence in (select sequence from (select sequence, at from audit order by sequence limit $2) f where at < $1) returning 1`,
  ],
  tallies: ['tally', 'tally_reason', 'tally_hour'].map(
    (table) =>
      `delete from ${table} where ctid = any (array(select ctid from ${table} where hour < $1 order by hour limit $2)) returning 1`,
  ),
}
