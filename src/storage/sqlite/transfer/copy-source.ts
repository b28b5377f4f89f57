import { dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Refusal } from '../../../core/refusals.ts'
import type { Checkpoint } from '../../queries/checkpoint.ts'
import { newestOf } from '../../queries/migrations.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import type { CopiedRow, CopiedTable, CopiedValue } from '../../queries/verify/copied-tables.ts'
import { openDatabase } from '../connection/open-database.ts'
import { takeServiceLock } from '../connection/service-lock.ts'
import { translateOpenError } from '../connection/sqlite-errors.ts'
import { readApplied, readMigrations } from '../schema/migrate.ts'

const ROWS_AT_ONCE = 2_000
const ACTOR = 'copy'

/**
 * Derived data, which the target computes again, records of processes that have ended, and sign-ins: people sign in again.
 * Every other table is copied.
 */
const NOT_COPIED: readonly string[] = [
  'migration',
  'worker',
  'lane_entry',
  'indexed_through',
  'lane_change',
  'checkpoint',
  'session',
  'session_request',
  'session_status',
  'known_device',
  'sign_in_throttle',
  'sign_in_ticket',
  'tally',
  'tally_reason',
  'tally_hour',
  'alarm',
  'retention_mark',
  'retention_kept',
  'retention_state',
] satisfies readonly (keyof Tables | 'migration')[]

/** PostgreSQL stores the account of these rows. SQLite stores it in the connection only. */
const WITH_ACCOUNT = ['lane', 'open_attempt']

const KINDS = { TEXT: 'text', INTEGER: 'number', BLOB: 'bytes' } as const

interface Doubt {
  readonly connection_id: string
  readonly possibly_superseded_sequence: number | null
}

/** A stopped installation on SQLite that is copied. While this is open no process can serve or change it. */
export class CopySource {
  readonly #database: DatabaseSync
  readonly #lock: { release(): void }
  /** Open attempts as they were before the hold. */
  #before: readonly Doubt[] = []

  constructor(path: string) {
    // First without the lock, so that no folder is made for a database that is not there.
    openDatabase(path, { create: false }).close()
    this.#lock = takeServiceLock(join(dirname(path), 'service.lock'))
    try {
      this.#database = openDatabase(path, { create: false })
      refuseUnknown(this.#database, path)
      this.#database.exec('begin immediate')
    } catch (error) {
      this.#lock.release()
      throw translateOpenError(error, path)
    }
  }

  /** In the order in which they were created, so that a table follows those that it refers to. */
  tables(): readonly CopiedTable[] {
    const names = this.#database
      .prepare(`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by rowid`)
      .all()
      .map(({ name }) => name as string)
    return names.filter((name) => !NOT_COPIED.includes(name)).map((name) => this.#describeTable(name))
  }

  count({ name }: CopiedTable): number {
    return this.#database.prepare(`select count(*) as rows from "${name}"`).get()?.['rows'] as number
  }

  /** All rows in the order of the key, some at a time. */
  *rows({ name, columns, key }: CopiedTable): Generator<CopiedRow[]> {
    const names = Object.keys(columns)
    const from = WITH_ACCOUNT.includes(name)
      ? `${quoted(name)} join (select id, account_id from connection) c on c.id = connection_id`
      : quoted(name)
    const sql = `select ${names.map(quoted).join()} from ${from} order by ${key.map(quoted).join()}`
    let batch: CopiedRow[] = []
    for (const row of this.#database.prepare(sql).iterate()) {
      batch.push(names.map((column) => row[column] as CopiedValue))
      if (batch.length < ROWS_AT_ONCE) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  }

  /** The highest number that was ever assigned to a row, even to a deleted one. */
  highestNumber(table: 'audit' | 'channel_memory' | 'notice'): number {
    const sql =
      table === 'audit'
        ? 'select coalesce(max(sequence), 0) as highest from audit'
        : `select coalesce((select seq from sqlite_sequence where name = '${table}'), 0) as highest`
    return this.#database.prepare(sql).get()?.['highest'] as number
  }

  /** Its checkpoint, to be compared with the remembered ones. */
  found(): Checkpoint {
    const row = this.#database.prepare('select installation, mark, holds from checkpoint').get()
    return { ...(row as unknown as Omit<Checkpoint, 'server'>), server: null }
  }

  /** Null while lanes may move. */
  heldBecause(): string | null {
    return (this.#database.prepare('select reason from hold').get()?.['reason'] as string | undefined) ?? null
  }

  /**
   * Holds all lanes durably, because what waits is in both places and only one may send it. Returns false if they were held
   * already.
   */
  hold(reason: string, at: number): boolean {
    const database = this.#database
    const { changes } = database
      .prepare('insert into hold (only, since, reason) values (1, ?, ?) on conflict do nothing')
      .run(at, reason)
    if (changes === 1) {
      // The copy may have sent later attempts by the time that this database is released (G12).
      const before = database.prepare('select connection_id, possibly_superseded_sequence from open_attempt').all()
      this.#before = before as unknown as Doubt[]
      database.exec('update open_attempt set possibly_superseded_sequence = message_sequence')
      database.exec('update checkpoint set holds = holds + 1')
      this.#audit('hold.place', reason, at)
    }
    database.exec('commit')
    return changes === 1
  }

  /** Undoes `hold`. */
  release(reason: string, at: number): void {
    const { changes } = this.#database.prepare('delete from hold where reason = ?').run(reason)
    if (changes !== 1) return
    const restore = this.#database.prepare(
      'update open_attempt set possibly_superseded_sequence = ? where connection_id = ?',
    )
    for (const { connection_id, possibly_superseded_sequence } of this.#before)
      restore.run(possibly_superseded_sequence, connection_id)
    this.#audit('hold.release', reason, at)
  }

  /** Rolls back an open transaction. */
  close(): void {
    this.#database.close()
    this.#lock.release()
  }

  #describeTable(name: string): CopiedTable {
    const found = this.#database.prepare('select name, type, pk from pragma_table_info(?)').all(name)
    const columns = found as unknown as readonly { name: string; type: keyof typeof KINDS; pk: number }[]
    return {
      name,
      key: columns
        .filter(({ pk }) => pk > 0)
        .sort((one, other) => one.pk - other.pk)
        .map((column) => column.name),
      columns: {
        // The owner of a lane is a process that has ended.
        ...Object.fromEntries(
          columns.filter((column) => column.name !== 'owner').map((column) => [column.name, KINDS[column.type]]),
        ),
        ...(WITH_ACCOUNT.includes(name) ? { account_id: 'text' as const } : {}),
      },
    }
  }

  #audit(action: string, reason: string, at: number): void {
    this.#database
      .prepare(`insert into audit (at, actor, action, object, detail) values (?, ?, ?, 'all numbers', ?)`)
      .run(at, ACTOR, action, JSON.stringify({ reason }))
  }
}

/**
 * Other commands may ignore additions of newer code. A copy would silently leave them out.
 */
function refuseUnknown(database: DatabaseSync, path: string): void {
  const name = readApplied(database, path).find(({ number }) => number > newestOf(readMigrations()))?.name
  if (name === undefined) return
  throw new Refusal(
    'database_newer',
    `The database at ${path} was changed by a newer version of Nuncio (${name}), and this one would leave out what it does not know. Copy it with that version.`,
  )
}

function quoted(name: string): string {
  return `"${name}"`
}
