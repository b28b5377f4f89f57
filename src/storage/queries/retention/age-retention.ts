import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type {
  Removed,
  Retention,
  RetentionState,
  RetentionStep,
  RetentionTask,
  WalkOf,
} from '../../../core/ports/retention.ts'
import type { OwnTimes } from '../../../core/retention/retention-times.ts'
import { LEASE_MS } from '../../../core/retention/run-sweep.ts'
import { decideAgain, type WalkedRow } from './aging-rows.ts'

/** The account under which the position of a walk through all accounts is stored. */
export const ALL_ACCOUNTS = ''

/** `$1` stands for the first value. */
export interface Statement {
  readonly sql: string
  readonly values?: readonly unknown[]
}

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Yields statements and receives their rows, so that SQLite can run it inside one transaction, where nothing may be awaited. */
export type Job<Result> = Generator<Statement, Result, Rows>

export type Given = Parameters<Retention['step']>[1]
export type Step = Omit<RetentionStep, 'tookMs'>
export type Task<Do extends RetentionTask['do']> = Extract<RetentionTask, { do: Do }>

export interface KeptBack {
  readonly account: AccountId
  readonly sequence: Sequence
}

/** Deletes by age. The walks and the statements that depend on the engine are in its subclasses. */
export abstract class AgeRetention implements Retention {
  abstract readonly aimMs: number
  abstract readonly mostRows: number

  protected abstract query(statement: Statement): Promise<Rows>
  protected abstract run<Result>(job: Job<Result>): Promise<Result>
  protected abstract walk(task: Task<'walk'>, given: Given): Job<Step>
  protected abstract dropDays(task: Task<'drop-days'>, given: Given): Job<Step>
  /** Statements with the time (`$1`) and the limit (`$2`). Each returns a row for every row that it deletes. */
  protected abstract trims(table: Task<'trim'>['table']): readonly string[]
  protected abstract readKept(what: WalkOf, kept: readonly KeptBack[]): Job<readonly WalkedRow[]>
  protected abstract removeKept(what: WalkOf, rows: readonly WalkedRow[], now: Instant): Job<Step['removed']>
  protected abstract forgetKept(what: WalkOf, kept: readonly KeptBack[]): Job<void>

  async read(now: Instant): Promise<RetentionState> {
    return toRetentionState((await this.query({ sql: READ_STATE }))[0], now)
  }

  async readOwnTimes(): Promise<ReadonlyMap<AccountId, OwnTimes>> {
    const rows = await this.query({
      sql: 'select account_id as id, bodies_days as "bodiesDays", messages_days as "messagesDays" from account_retention order by account_id',
    })
    return new Map((rows as unknown as ({ id: AccountId } & OwnTimes)[]).map(({ id, ...times }) => [id, times]))
  }

  acquireLease(worker: string, now: Instant, forMs: number): Promise<boolean> {
    // A lease that ends later than any can was taken before the clock was set back.
    return this.#change(
      `update retention_state set swept_by = $1, swept_until = $3
         where swept_until <= $2 or swept_by = $1 or swept_until > $4 returning 1`,
      [worker, now, now + forMs, now + 2 * forMs],
    )
  }

  async releaseLease(worker: string): Promise<void> {
    await this.#change('update retention_state set swept_until = 0 where swept_by = $1 returning 1', [worker])
  }

  async postpone(until: Instant, why: RetentionState['waitsFor']): Promise<void> {
    await this.#change('update retention_state set begins_at = $1, waits_for = $2 returning 1', [until, why])
  }

  finish(worker: string, { begunAt, endedAt, tookMs, removed }: NonNullable<RetentionState['last']>): Promise<boolean> {
    return this.#change(
      `update retention_state set begun_at = $1, ended_at = $2, took_ms = $3, counts = $4 where swept_by = $5 returning 1`,
      [begunAt, endedAt, tookMs, JSON.stringify(removed), worker],
    )
  }

  step(task: RetentionTask, given: Given): Promise<RetentionStep> {
    return this.run(this.#timed(task, given))
  }

  *#timed(task: RetentionTask, given: Given): Job<RetentionStep> {
    const begunAt = performance.now()
    return { ...(yield* this.#stepOf(task, given)), tookMs: performance.now() - begunAt }
  }

  #stepOf(task: RetentionTask, given: Given): Job<Step> {
    switch (task.do) {
      case 'walk':
        return this.walk(task, given)
      case 'recheck':
        return this.#recheck(task, given)
      case 'drop-days':
        return this.dropDays(task, given)
      case 'trim-inbox':
        return this.#trimInbox(task, given)
      case 'trim':
        return this.#trim(task, given)
    }
  }

  *#recheck({ what, before }: Task<'recheck'>, { now, limit, cursor }: Given): Job<Step> {
    const [account = '', sequence = '0'] = (cursor ?? '').split(' ')
    const kept = (yield {
      sql: `select account_id as account, message_sequence as sequence from retention_kept
        where (account_id, message_sequence) > ($1, $2) and what = $3 order by account_id, message_sequence limit $4`,
      values: [account, Number(sequence), what, limit],
    }) as unknown as readonly KeptBack[]
    const last = kept.at(-1)
    if (!last) return { removed: {}, isThrough: true, cursor: null }
    const rows = yield* this.readKept(what, kept)
    const expired = decideAgain(rows, { before, now })
    const removed = yield* this.removeKept(what, expired, now)
    const staying = new Set(rows.filter((row) => !expired.includes(row)).map((row) => row.sequence))
    yield* this.forgetKept(
      what,
      kept.filter((each) => !staying.has(each.sequence)),
    )
    return { removed, isThrough: kept.length < limit, cursor: `${last.account} ${last.sequence}` }
  }

  /** One connection at a time, because deliveries are stored in that order. The cursor is `>` or `=` and the last connection. */
  *#trimInbox({ before }: Task<'trim-inbox'>, { limit, cursor }: Given): Job<Step> {
    const [connection] = (yield {
      sql: `select id, account_id as account from connection
        where channel = 'sandbox' and id ${cursor?.startsWith('=') ? '>=' : '>'} $1 order by id limit 1`,
      values: [cursor?.slice(1) ?? ''],
    }) as unknown as readonly { readonly id: string; readonly account: AccountId }[]
    if (!connection) return { removed: {}, isThrough: true, cursor: null }
    const end = before(connection.account)
    const gone =
      end === null
        ? []
        : yield {
            sql: `delete from channel_memory where position in (
              select position from (select position, at from channel_memory
                where kind = 'sandbox.inbox' and connection_id = $1 order by position limit $2) f where at < $3) returning key`,
            values: [connection.id, limit, end],
          }
    return {
      removed: { inbox: gone.length },
      isThrough: false,
      cursor: `${gone.length === limit ? '=' : '>'}${connection.id}`,
      deliveries: gone.map(({ key }) => String(key).split('#')[0] ?? ''),
    }
  }

  *#trim({ table, before }: Task<'trim'>, { limit }: Given): Job<Step> {
    let removed = 0
    for (const sql of this.trims(table)) removed += (yield { sql, values: [before, limit] }).length
    return { removed: { [table]: removed }, isThrough: removed < limit, cursor: null }
  }

  /** How far a walk has come. */
  protected *readPosition(accountId: AccountId | null, what: WalkOf): Job<number> {
    const [row] = yield {
      sql: 'select position from retention_mark where account_id = $1 and what = $2',
      values: [accountId ?? ALL_ACCOUNTS, what],
    }
    return (row?.['position'] as number | undefined) ?? 0
  }

  #change(sql: string, values: readonly unknown[]): Promise<boolean> {
    return this.run(
      (function* (): Job<boolean> {
        return (yield { sql, values }).length > 0
      })(),
    )
  }
}

export const READ_STATE =
  'select begins_at, waits_for, swept_by, swept_until, begun_at, ended_at, took_ms, counts from retention_state'

interface StateRow {
  readonly begins_at: Instant
  readonly waits_for: string | null
  readonly swept_by: string | null
  readonly swept_until: Instant
  readonly begun_at: Instant | null
  readonly ended_at: Instant | null
  readonly took_ms: number | null
  readonly counts: string | null
}

export function toRetentionState(row: unknown, now: Instant): RetentionState {
  const state = row as StateRow
  const { begun_at: begunAt, ended_at: endedAt, took_ms: tookMs, counts } = state
  return {
    beginsAt: state.begins_at,
    waitsFor: state.waits_for as RetentionState['waitsFor'],
    // A lease that ends later than any can was taken before the clock was set back.
    sweptBy: state.swept_until > now && state.swept_until <= now + 2 * LEASE_MS ? state.swept_by : null,
    last:
      begunAt === null || endedAt === null
        ? null
        : { begunAt, endedAt, tookMs: tookMs ?? 0, removed: JSON.parse(counts ?? '{}') as Removed },
  }
}
