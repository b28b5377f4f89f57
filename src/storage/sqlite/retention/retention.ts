import type { DatabaseSync } from 'node:sqlite'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Removed, WalkOf } from '../../../core/ports/retention.ts'
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
import { COLUMNS, type DecidedRows, decideRows, type WalkedRow } from '../../queries/retention/aging-rows.ts'

// Every request accepted in the same commit waits for it.
const AIM_MS = 3
const MOST_ROWS = 400

type Submit = <Result>(run: () => Result) => Promise<Result>

/** Runs each step as one short job of a shared commit, so a step costs no flush of its own and waits for no other writer. */
export class SqliteRetention extends AgeRetention {
  readonly aimMs = AIM_MS
  readonly mostRows = MOST_ROWS
  readonly #database: DatabaseSync
  readonly #submit: Submit

  constructor(database: DatabaseSync, submit: Submit) {
    super()
    this.#database = database
    this.#submit = submit
  }

  protected async query(statement: Statement) {
    return this.#execute(statement)
  }

  protected run<Result>(job: Job<Result>): Promise<Result> {
    return this.#submit(() => {
      // Overwrites deleted content with zeros. Only this job pays for that.
      this.#database.exec('pragma secure_delete = on')
      try {
        let next = job.next([])
        while (!next.done) next = job.next(this.#execute(next.value))
        return next.value
      } finally {
        this.#database.exec('pragma secure_delete = off')
      }
    })
  }

  // PostgreSQL alone stores days apart.
  // biome-ignore lint/correctness/useYield: it needs no statement
  protected *dropDays(): Job<Step> {
    return { removed: {}, isThrough: true, cursor: null }
  }

  protected trims(table: Task<'trim'>['table']): readonly string[] {
    return TRIMS[table]
  }

  protected *walk({ what, accountId, before }: Task<'walk'>, { now, limit }: Given): Job<Step> {
    const table = tableOf(what)
    const conditions = ['m.sequence > ?']
    if (accountId !== null) conditions.push('m.account_id = ?')
    // The newest row is never deleted: SQLite would assign its number again.
    if (!what.endsWith('.body')) conditions.push(`m.sequence < (select max(sequence) from ${table})`)
    const rows = this.#all(
      `select ${COLUMNS[what]} from ${table} m where ${conditions.join(' and ')} order by m.sequence limit ?`,
      yield* this.readPosition(accountId, what),
      ...(accountId === null ? [] : [accountId]),
      limit,
    ) as unknown as WalkedRow[]
    const decided = decideRows(rows, { what, before, now })
    this.#keepBack(what, decided)
    const removed = this.#remove(what, decided.remove, now)
    if (decided.mark !== null) this.#moveMark(accountId, what, decided.mark)
    if (what === 'message' && accountId === null && decided.mark !== null) this.#trimCommits(decided.mark, limit)
    return { removed, isThrough: decided.isThrough || rows.length < limit, cursor: null }
  }

  protected *readKept(what: WalkOf, kept: readonly KeptBack[]): Job<readonly WalkedRow[]> {
    const sql = `select ${COLUMNS[what]} from message m where m.sequence = ?`
    return kept.flatMap(({ sequence }) => this.#all(sql, sequence) as unknown as WalkedRow[])
  }

  // biome-ignore lint/correctness/useYield: it runs prepared statements itself
  protected *removeKept(what: WalkOf, rows: readonly WalkedRow[], now: Instant): Job<Removed> {
    return this.#remove(what, rows, now)
  }

  // biome-ignore lint/correctness/useYield: it runs prepared statements itself
  protected *forgetKept(what: WalkOf, kept: readonly KeptBack[]): Job<void> {
    const sql = 'delete from retention_kept where account_id = ? and message_sequence = ? and what = ?'
    for (const { account, sequence } of kept) this.#run(sql, account, sequence, what)
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

  #keepBack(what: WalkOf, { keepBack }: DecidedRows): void {
    for (const { account_id, sequence } of keepBack)
      this.#run(
        'insert into retention_kept (account_id, message_sequence, what) values (?, ?, ?) on conflict do nothing',
        account_id,
        sequence,
        what,
      )
  }

  #moveMark(accountId: AccountId | null, what: WalkOf, position: number): void {
    this.#run(
      `insert into retention_mark (account_id, what, position) values (?, ?, ?)
         on conflict (account_id, what) do update set position = excluded.position`,
      accountId ?? ALL_ACCOUNTS,
      what,
      position,
    )
  }

  /** SQLite numbers `?1`, and would take `$1` for a name. */
  #execute({ sql, values = [] }: Statement): Record<string, unknown>[] {
    return this.#all(sql.replaceAll('$', '?'), ...(values as (string | number | null)[]))
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

function tableOf(what: WalkOf): 'message' | 'request' {
  return what.startsWith('message') ? 'message' : 'request'
}

const TRIMS: Readonly<Record<Task<'trim'>['table'], readonly string[]>> = {
  waits: [
    `delete from standstill where (connection_id, since, reason) in (
       select connection_id, since, reason from standstill where until < $1 order by until limit $2) returning 1`,
  ],
  audit: [
    `delete from audit where sequence in (select sequence from (select sequence, at from audit order by sequence limit $2) where at < $1)
       and sequence < (select max(sequence) from audit) returning 1`,
  ],
  tallies: Object.entries({
    tally: 'account_id, connection_id, hour, state',
    tally_reason: 'account_id, hour, state, reason',
    tally_hour: 'hour',
  }).map(
    ([table, key]) =>
      `delete from ${table} where (${key}) in (select ${key} from ${table} where hour < $1 order by hour limit $2) returning 1`,
  ),
}
