import type { DatabaseSync } from 'node:sqlite'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type {
  Removed,
  Retention,
  RetentionState,
  RetentionStep,
  RetentionTask,
  WalkOf,
} from '../../../core/ports/retention.ts'
import type { OwnTimes } from '../../../core/retention/retention-times.ts'
import {
  COLUMNS,
  type DecidedRows,
  decideAgain,
  decideRows,
  type WalkedRow,
} from '../../queries/retention/aging-rows.ts'
import { READ_STATE, toRetentionState } from '../../queries/retention/retention-state.ts'

// Everybody who is accepted in the same moment waits for it.
const AIM_MS = 3
const MOST_ROWS = 400
const ALL = ''

type Given = Parameters<Retention['step']>[1]
type Submit = <Result>(run: () => Result) => Promise<Result>
type Task<Do extends RetentionTask['do']> = Extract<RetentionTask, { do: Do }>

/**
 * Deletes by age on SQLite, as one short job among those that share a commit: so it costs no flush of its own, and nobody
 * has to wait for another writer.
 */
export class SqliteRetention implements Retention {
  readonly aimMs = AIM_MS
  readonly mostRows = MOST_ROWS
  readonly #database: DatabaseSync
  readonly #submit: Submit

  constructor(database: DatabaseSync, submit: Submit) {
    this.#database = database
    this.#submit = submit
  }

  async read(now: Instant): Promise<RetentionState> {
    return toRetentionState(this.#database.prepare(READ_STATE).get(), now)
  }

  async readOwnTimes(): Promise<ReadonlyMap<AccountId, OwnTimes>> {
    const rows = this.#database
      .prepare(
        `select account_id as id, bodies_days as bodiesDays, messages_days as messagesDays from account_retention order by account_id`,
      )
      .all() as unknown as ({ id: AccountId } & OwnTimes)[]
    return new Map(rows.map(({ id, ...times }) => [id, times]))
  }

  takeTurn(who: string, now: Instant, forMs: number): Promise<boolean> {
    const sql = `update retention_state set swept_by = ?1, swept_until = ?3
      where swept_until <= ?2 or swept_by = ?1 or swept_until > ?2 + ?4`
    // A turn that lasts longer than any was taken before the clock was set back.
    return this.#submit(() => this.#run(sql, who, now, now + forMs, 2 * forMs) > 0)
  }

  async giveTurnBack(who: string): Promise<void> {
    await this.#submit(() => this.#run('update retention_state set swept_until = 0 where swept_by = ?', who))
  }

  async postpone(until: Instant, why: RetentionState['waitsFor']): Promise<void> {
    await this.#submit(() => this.#run('update retention_state set begins_at = ?, waits_for = ?', until, why))
  }

  finish(who: string, { begunAt, endedAt, tookMs, removed }: NonNullable<RetentionState['last']>): Promise<boolean> {
    const sql = 'update retention_state set begun_at = ?, ended_at = ?, took_ms = ?, counts = ? where swept_by = ?'
    return this.#submit(() => this.#run(sql, begunAt, endedAt, tookMs, JSON.stringify(removed), who) > 0)
  }

  step(task: RetentionTask, given: Given): Promise<RetentionStep> {
    return this.#submit(() => {
      const begunAt = performance.now()
      // What is deleted is overwritten with zeros, which costs what this job takes and nobody else.
      this.#database.exec('pragma secure_delete = on')
      try {
        return { ...this.#stepNow(task, given), tookMs: performance.now() - begunAt }
      } finally {
        this.#database.exec('pragma secure_delete = off')
      }
    })
  }

  #stepNow(task: RetentionTask, given: Given): Omit<RetentionStep, 'tookMs'> {
    switch (task.do) {
      case 'walk':
        return this.#walk(task, given)
      case 'look-again':
        return this.#lookAgain(task, given)
      case 'drop-days':
        return { removed: {}, isThrough: true, cursor: null }
      case 'trim-inbox':
        return this.#trimInbox(task, given)
      case 'trim':
        return this.#trim(task, given)
    }
  }

  #walk({ what, accountId, before }: Task<'walk'>, { now, limit }: Given): Omit<RetentionStep, 'tookMs'> {
    const table = tableOf(what)
    const conditions = ['m.sequence > ?']
    if (accountId !== null) conditions.push('m.account_id = ?')
    // The newest row stays for good: otherwise its number would be given to another one.
    if (!what.endsWith('.body')) conditions.push(`m.sequence < (select max(sequence) from ${table})`)
    const rows = this.#all(
      `select ${COLUMNS[what]} from ${table} m where ${conditions.join(' and ')} order by m.sequence limit ?`,
      this.#markOf(accountId, what),
      ...(accountId === null ? [] : [accountId]),
      limit,
    ) as unknown as WalkedRow[]
    const judged = decideRows(rows, { what, before, now })
    this.#keepBack(what, judged)
    const removed = this.#remove(what, judged.remove, now)
    if (judged.mark !== null) this.#moveMark(accountId, what, judged.mark)
    if (what === 'message' && accountId === null && judged.mark !== null) this.#trimCommits(judged.mark, limit)
    return { removed, isThrough: judged.isThrough || rows.length < limit, cursor: null }
  }

  #lookAgain({ what, before }: Task<'look-again'>, { now, limit, cursor }: Given): Omit<RetentionStep, 'tookMs'> {
    const [account, sequence] = readCursor(cursor)
    const kept = this.#all(
      `select account_id as account, message_sequence as sequence from retention_kept
         where (account_id, message_sequence) > (?, ?) and what = ? order by account_id, message_sequence limit ?`,
      account,
      sequence,
      what,
      limit,
    ) as unknown as { account: AccountId; sequence: number }[]
    const rows = kept.flatMap(
      (each) =>
        this.#all(
          `select ${COLUMNS[what]} from message m where m.sequence = ?`,
          each.sequence,
        ) as unknown as WalkedRow[],
    )
    const going = decideAgain(rows, { before, now })
    const removed = this.#remove(what, going, now)
    const there = new Set(rows.map((row) => row.sequence))
    const settled = new Set(going.map((row) => row.sequence))
    for (const each of kept) {
      if (there.has(each.sequence) && !settled.has(each.sequence)) continue
      this.#run(
        'delete from retention_kept where account_id = ? and message_sequence = ? and what = ?',
        each.account,
        each.sequence,
        what,
      )
    }
    const last = kept.at(-1)
    return { removed, isThrough: kept.length < limit, cursor: last ? `${last.account} ${last.sequence}` : null }
  }

  #remove(what: WalkOf, rows: readonly WalkedRow[], now: Instant): Removed {
    switch (what) {
      case 'message.body':
        return { bodies: this.#each(rows, (row) => this.#removeBody(row, now)) }
      case 'message':
        return { messages: this.#each(rows, (row) => this.#removeMessage(row)) }
      case 'request.body': {
        const sql = 'update request set body = null, body_deleted_at = ? where sequence = ? and body is not null'
        return { bodies: this.#each(rows, (row) => this.#run(sql, now, row.sequence)) }
      }
      case 'request':
        return {
          requests: this.#each(rows, (row) => this.#run('delete from request where sequence = ?', row.sequence)),
        }
    }
  }

  #each(rows: readonly WalkedRow[], remove: (row: WalkedRow) => number): number {
    return rows.reduce((sum, row) => sum + remove(row), 0)
  }

  #removeBody({ sequence, has_media }: WalkedRow, now: Instant): number {
    if (has_media === 1) this.#run(`update media set url = '' where message_sequence = ?`, sequence)
    return this.#run(
      `update message set body = '', body_crc = 0, body_deleted_at = ? where sequence = ? and state <> 'QUEUED' and body_deleted_at is null`,
      now,
      sequence,
    )
  }

  #removeMessage({ sequence, account_id, connection_id, has_media }: WalkedRow): number {
    const gone = this.#run(`delete from message where sequence = ? and state <> 'QUEUED'`, sequence)
    if (gone === 0) return 0
    this.#run('delete from attempt where message_sequence = ?', sequence)
    this.#run('delete from timeline where message_sequence = ?', sequence)
    if (has_media === 1) this.#run('delete from media where message_sequence = ?', sequence)
    this.#run('delete from lane_entry where connection_id = ? and sequence = ?', connection_id, sequence)
    this.#run('delete from retention_kept where account_id = ? and message_sequence = ?', account_id, sequence)
    return gone
  }

  #trimCommits(upTo: number, limit: number): void {
    this.#run(
      `delete from accept_commit where last_sequence in (
         select last_sequence from accept_commit where last_sequence <= ? order by last_sequence limit ?)`,
      upTo,
      limit,
    )
  }

  /** By connection, because what is delivered lies in that order. The cursor is the connection to go on with. */
  #trimInbox({ before }: Task<'trim-inbox'>, { limit, cursor }: Given): Omit<RetentionStep, 'tookMs'> {
    const [connection] = this.#all(
      `select id, account_id as account from connection where channel = 'sandbox' and id ${cursor?.startsWith('=') ? '>=' : '>'} ? order by id limit 1`,
      cursor?.slice(1) ?? '',
    ) as unknown as { id: string; account: AccountId }[]
    if (!connection) return { removed: {}, isThrough: true, cursor: null }
    const end = before(connection.account)
    const gone =
      end === null
        ? []
        : (this.#all(
            `delete from channel_memory where position in (
               select position from (select position, at from channel_memory
                 where kind = 'sandbox.inbox' and connection_id = ? order by position limit ?) where at < ?) returning key`,
            connection.id,
            limit,
            end,
          ) as unknown as { key: string }[])
    return {
      removed: { inbox: gone.length },
      isThrough: false,
      cursor: `${gone.length === limit ? '=' : '>'}${connection.id}`,
      deliveries: gone.map(({ key }) => key.split('#')[0] ?? key),
    }
  }

  #trim({ table, before }: Task<'trim'>, { limit }: Given): Omit<RetentionStep, 'tookMs'> {
    const removed = table === 'audit' ? this.#trimAudit(before, limit) : this.#trimTallies(before, limit)
    return { removed: { [table]: removed }, isThrough: removed < limit, cursor: null }
  }

  #trimAudit(before: Instant, limit: number): number {
    return this.#run(
      `delete from audit where sequence in (select sequence from (select sequence, at from audit order by sequence limit ?) where at < ?)
         and sequence < (select max(sequence) from audit)`,
      limit,
      before,
    )
  }

  #trimTallies(before: Instant, limit: number): number {
    let removed = 0
    for (const [table, key] of Object.entries(TALLY_KEYS)) {
      removed += this.#run(
        `delete from ${table} where (${key}) in (select ${key} from ${table} where hour < ? order by hour limit ?)`,
        before,
        limit,
      )
    }
    return removed
  }

  #keepBack(what: WalkOf, { keepBack }: DecidedRows): void {
    for (const { account_id, sequence } of keepBack)
      this.#run(
        'insert into retention_kept (account_id, message_sequence, what) values (?, ?, ?) on conflict do nothing',
        account_id,
        sequence,
        what,
      )
  }

  #markOf(accountId: AccountId | null, what: WalkOf): number {
    const [row] = this.#all(
      'select position from retention_mark where account_id = ? and what = ?',
      accountId ?? ALL,
      what,
    )
    return (row?.['position'] as number | undefined) ?? 0
  }

  #moveMark(accountId: AccountId | null, what: WalkOf, position: number): void {
    this.#run(
      `insert into retention_mark (account_id, what, position) values (?, ?, ?)
         on conflict (account_id, what) do update set position = excluded.position`,
      accountId ?? ALL,
      what,
      position,
    )
  }

  #all(sql: string, ...values: (string | number | null)[]): Record<string, unknown>[] {
    return this.#prepared(sql).all(...values)
  }

  #run(sql: string, ...values: (string | number | null)[]): number {
    return Number(this.#prepared(sql).run(...values).changes)
  }

  readonly #statements = new Map<string, ReturnType<DatabaseSync['prepare']>>()

  #prepared(sql: string): ReturnType<DatabaseSync['prepare']> {
    const known = this.#statements.get(sql)
    if (known) return known
    const made = this.#database.prepare(sql)
    this.#statements.set(sql, made)
    return made
  }
}

const TALLY_KEYS = {
  tally: 'account_id, connection_id, hour, state',
  tally_reason: 'account_id, hour, state, reason',
  tally_hour: 'hour',
}

function tableOf(what: WalkOf): 'message' | 'request' {
  return what.startsWith('message') ? 'message' : 'request'
}

/** An account and a sequence, in the order of the key. */
function readCursor(cursor: string | null): [string, number] {
  const [account = '', sequence = '0'] = (cursor ?? '').split(' ')
  return [account, Number(sequence)]
}
