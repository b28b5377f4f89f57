import type { Client } from 'pg'
import { validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { CopiedRow, CopiedTable, CopiedValue } from '../../queries/verify/copied-tables.ts'
import { bigintArray, textArray, withoutNul } from '../connection/binary-arrays.ts'
import { checkServer, connect } from '../connection/open-database.ts'
import type { Row } from '../connection/pg-connection.ts'
import {
  castsDoubt,
  classify,
  commitUnknown,
  describeServer,
  translateStatementError,
} from '../connection/postgres-errors.ts'

const ROWS_AT_ONCE = 5_000

/** Tables on PostgreSQL of which the shared name is a view. */
const STORED_IN: Readonly<Record<string, string>> = {
  attempt: 'ended_attempt',
  open_attempt: 'lane_attempt',
}

/**
 * An empty installation that one transaction fills, so it stays empty if anything fails. Messages come with small
 * sequences, so all of them go into period 0, which exists for that.
 */
export class CopyTarget {
  readonly #client: Client
  readonly #url: string
  /** The spool of a file. */
  readonly #spoolOf: (path: string) => string | null
  #warned = false

  private constructor(client: Client, url: string, spoolOf: (path: string) => string | null) {
    this.#client = client
    this.#url = url
    this.#spoolOf = spoolOf
    client.on('notice', (notice) => {
      if (castsDoubt(notice)) this.#warned = true
    })
  }

  /** The tables must exist. Refuses an installation that holds data or is in use. */
  static async open(url: string, spoolOf: (path: string) => string | null): Promise<CopyTarget> {
    const target = new CopyTarget(await connect(url), url, spoolOf)
    try {
      await checkServer((sql) => target.#query(sql), url)
      await target.#begin()
      await target.#refuseUsed()
      return target
    } catch (error) {
      await target.abandon()
      throw error
    }
  }

  async write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const columns = Object.keys(table.columns)
    if (table.name === 'message') return this.#writeMessages(table, rows)
    if (table.name !== 'media') return this.#insert(STORED_IN[table.name] ?? table.name, table, { columns, rows })
    const path = columns.indexOf('path')
    const spools = rows.map((row) => (row[path] === null ? null : this.#spoolOf(row[path] as string)))
    await this.#insert(
      'media',
      { ...table, columns: { ...table.columns, spool: 'text' } },
      {
        columns: [...columns, 'spool'],
        rows: rows.map((row, at) => [...row, spools[at] ?? null]),
      },
    )
  }

  /** All rows in the order of the key, 5,000 at a time. */
  async *rows(table: CopiedTable): AsyncGenerator<CopiedRow[]> {
    const columns = Object.keys(table.columns)
    const from = quoted(STORED_IN[table.name] ?? table.name)
    await this.#query(
      `declare reading no scroll cursor for select ${columns.map(quoted).join()} from ${from} order by ${table.key.map(quoted).join()}`,
    )
    for (;;) {
      const rows = await this.#query(`fetch ${ROWS_AT_ONCE} from reading`)
      if (rows.length === 0) break
      yield rows.map((row) => columns.map((column) => row[column] as CopiedValue))
    }
    await this.#query('close reading')
  }

  /** A row as this database returns it: without NUL characters, which its texts cannot hold. */
  asKept(row: CopiedRow): CopiedRow {
    return row.map((value) => (typeof value === 'string' ? withoutNul(value) : value))
  }

  /** Numbers of earlier rows are never assigned again, even of deleted ones. */
  async advance(table: 'audit' | 'channel_memory' | 'notice', highest: number): Promise<void> {
    if (highest === 0) return
    const column = table === 'audit' ? 'sequence' : 'position'
    await this.#query('select setval(pg_get_serial_sequence($1, $2), $3)', [table, column, highest])
  }

  /** Holds all lanes if the copied data has no hold, and marks open attempts: later ones may be missing from the copy. */
  async hold(reason: string, at: number): Promise<void> {
    const held = await this.#query(
      'insert into hold ("only", since, reason) values (1, $1, $2) on conflict do nothing returning 1',
      [at, reason],
    )
    if (held.length > 0) await this.#query('update checkpoint set holds = holds + 1')
    await this.#query('update open_attempt set possibly_superseded_sequence = message_sequence')
  }

  /** Copied data may be old: delays its deletion, so that people are notified a day before. */
  async waitWithRetention(forMs: number): Promise<void> {
    await this.#query(`update retention_state set begins_at = now_ms() + $1::bigint, waits_for = 'copy'`, [forMs])
  }

  /** Makes the copy usable. Throws if the commit failed; returns a refusal if its result is unknown. */
  async commit(): Promise<Refusal | null> {
    this.#warned = false
    try {
      await this.#client.query('commit')
    } catch (error) {
      if (classify(error) === 'unknown') return commitUnknown(this.#url, error)
      throw translateStatementError(error, this.#url)
    }
    return this.#warned ? commitUnknown(this.#url, 'no standby has confirmed it') : null
  }

  /**
   * Makes period 0 end now. Its end is the time at which the tables were made, but copied messages may be younger, and would be
   * deleted too early. Later periods are still empty, and none may begin before the one before it.
   */
  async endPeriodOfCopies(): Promise<void> {
    await this.#query('update period set starts_at = greatest(starts_at, now_ms()) where number > 0')
  }

  /** Analyzes the tables, so that the server plans well from the first query on. */
  async learnSizes(tables: readonly CopiedTable[]): Promise<void> {
    const names = tables.flatMap(({ name }) => (name === 'message' ? ['queued', 'settled'] : [STORED_IN[name] ?? name]))
    await this.#query(`analyze ${names.map(quoted).join()}`)
  }

  /** Ends the connection. The server rolls back what was not committed. */
  async abandon(): Promise<void> {
    await this.#client.end().catch(() => {})
  }

  async #begin(): Promise<void> {
    await this.#query('begin transaction isolation level read committed read write')
    // A copy has no time limit, but must not wait for locks for long.
    await this.#query(
      `select set_config(name, case when name = 'lock_timeout' then '5000' else '0' end, true) from pg_settings
         where name in ('lock_timeout', 'statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`,
    )
    // Blocks the creation of the first account meanwhile.
    await this.#query('select pg_advisory_xact_lock(3, 0)')
  }

  async #refuseUsed(): Promise<void> {
    const filled = [
      'account',
      'connection',
      'token',
      'queued',
      'settled',
      'request',
      'channel_memory',
      'audit',
      'key_ring',
    ]
    const [row] = await this.#query(
      `select ${filled.map((table) => `exists (select from ${table})`).join(' or ')}
           or not exists (select from period where number = 0) as is_filled,
         exists (select from worker where ${validLeaseSql('now_ms()')}) as is_served`,
    )
    const place = describeServer(this.#url)
    if (row?.['is_filled'] === true) {
      throw new Refusal(
        'database_not_empty',
        `The database at ${place} holds an installation already. Copy into one that is empty: make another, or drop this one and make it anew.`,
      )
    }
    if (row?.['is_served'] === true)
      throw new Refusal('database_in_use', `A Nuncio serves the database at ${place}. Stop it until all is copied.`)
  }

  async #writeMessages(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const all = Object.keys(table.columns)
    const state = all.indexOf('state')
    const [queued, settled] = [
      rows.filter((row) => row[state] === 'QUEUED'),
      rows.filter((row) => row[state] !== 'QUEUED'),
    ]
    for (const [into, messages] of [
      ['queued', queued],
      ['settled', settled],
    ] as const) {
      // Each of the two has columns that the other lacks.
      const columns = (await this.#columnsOf(into)).filter((column) => all.includes(column))
      const positions = columns.map((column) => all.indexOf(column))
      await this.#insert(into, table, { columns, rows: messages.map((row) => positions.map((at) => row[at] ?? null)) })
    }
  }

  async #columnsOf(table: string): Promise<string[]> {
    const rows = await this.#query(
      'select attname::text as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped',
      [table],
    )
    return rows.map(({ name }) => name as string)
  }

  async #insert(
    into: string,
    table: CopiedTable,
    { columns, rows }: { readonly columns: readonly string[]; readonly rows: readonly CopiedRow[] },
  ): Promise<void> {
    if (rows.length === 0) return
    const kinds = columns.map((column) => table.columns[column])
    const taken = columns.map((_, at) => (kinds[at] === 'bytes' ? `decode(v${at}, 'hex')` : `v${at}`))
    const arrays = columns.map((_, at) => `$${at + 1}::${kinds[at] === 'number' ? 'bigint' : 'text'}[]`)
    await this.#query(
      `insert into ${quoted(into)} (${columns.map(quoted).join()})
         select ${taken.join()} from unnest(${arrays.join()}) s (${columns.map((_, at) => `v${at}`).join()})`,
      columns.map((_, at) => {
        const values = rows.map((row) => row[at] ?? null)
        return kinds[at] === 'number' ? bigintArray(values as (number | null)[]) : textArray(values.map(toText))
      }),
    )
  }

  async #query(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      return (await this.#client.query<Row>(sql, [...values])).rows
    } catch (error) {
      throw translateStatementError(error, this.#url)
    }
  }
}

function toText(value: CopiedValue): string | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : (value as string | null)
}

function quoted(name: string): string {
  return `"${name}"`
}
