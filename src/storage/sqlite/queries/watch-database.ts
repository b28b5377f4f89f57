import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import type { LaneMeasure, LaneToMeasure, Unconfirmed } from '../../../core/ports/watch.ts'
import type {
  FullCounts,
  LeastFull,
  WatchDatabase,
  WatchRow,
  WatchStatement,
  WatchValue,
} from '../../queries/alarms/watch-database.ts'
import type { WaitingCounts } from '../accept/waiting-counts.ts'
import type { GroupCommit } from '../connection/group-commit.ts'
import { storageError } from '../connection/sqlite-errors.ts'

const UNCONFIRMED_AT_ONCE = 500
const MOST_UNCONFIRMED_PAGES = 40

/**
 * The queries of the watchdog on SQLite. They run in the thread of the service, because another thread would cost an idle
 * installation more memory than anything else. So each query covers a hundred lanes at most.
 */
export class SqliteWatchDatabase implements WatchDatabase {
  readonly headOfC = `select e.sequence from lane_entry e cross join message m
    where e.connection_id = c.id and m.sequence = e.sequence and m.state = 'QUEUED' order by e.sequence limit 1`
  readonly unfinished = 'message'
  readonly undelivered = `from message m where m.state = 'PUBLISHED'
    and (m.network_id >= 'bridge:' and m.network_id < 'bridge;' or m.network_id >= 'wamid.' and m.network_id < 'wamid/')`
  readonly #database: DatabaseSync
  readonly #commits: GroupCommit
  readonly #counts: WaitingCounts
  readonly #statements = new Map<string, StatementSync>()

  constructor(parts: { database: DatabaseSync; commits: GroupCommit; counts: WaitingCounts }) {
    this.#database = parts.database
    this.#commits = parts.commits
    this.#counts = parts.counts
  }

  async query(sql: string, values: readonly WatchValue[]): Promise<readonly WatchRow[]> {
    try {
      return this.#prepared(sql).all(...values)
    } catch (error) {
      if (storageError(error) === null) throw error
      throw new StorageUnavailable('the database cannot be read', false, { cause: error })
    }
  }

  async write(statements: readonly WatchStatement[]): Promise<void> {
    await this.#commits.submit(() => {
      for (const { sql, values } of statements) this.#prepared(sql).run(...values)
    })
  }

  /** No other process serves this database. */
  async acquireLease(): Promise<boolean> {
    return true
  }

  async releaseLease(): Promise<void> {}

  busyLanes(limit: number): string {
    return `with recursive busy (id) as (
        select (select connection_id from lane_entry where connection_id > ? order by connection_id limit 1)
        union all
        select (select connection_id from lane_entry where connection_id > busy.id order by connection_id limit 1)
          from busy where busy.id is not null
        limit ${limit})`
  }

  async measureLanes(lanes: readonly LaneToMeasure[]): Promise<ReadonlyMap<ConnectionId, LaneMeasure>> {
    const measures = new Map<ConnectionId, LaneMeasure>()
    for (const { id } of lanes) {
      const [row] = await this.query(
        `select accepted_at from message
          where sequence = (select sequence from lane_entry where connection_id = ? order by sequence desc limit 1)`,
        [id],
      )
      const newestAt = (row?.['accepted_at'] as number | undefined) ?? null
      measures.set(id, { waiting: this.#counts.ofConnection(id), isMore: false, newestAt })
    }
    return measures
  }

  async readUnconfirmed(): Promise<readonly Unconfirmed[]> {
    const found = new Map<AccountId, { count: number; oldestAt: number }>()
    let after = 0
    for (let page = 0; page < MOST_UNCONFIRMED_PAGES; page++) {
      const rows = await this.query(
        `select sequence, account_id, accepted_at from message
          where state = 'UNCONFIRMED' and resolved_at is null and sequence > ? order by sequence limit ${UNCONFIRMED_AT_ONCE}`,
        [after],
      )
      for (const row of rows) {
        const accountId = row['account_id'] as AccountId
        const known = found.get(accountId) ?? { count: 0, oldestAt: Number(row['accepted_at']) }
        found.set(accountId, { ...known, count: known.count + 1 })
      }
      if (rows.length < UNCONFIRMED_AT_ONCE) break
      after = Number(rows.at(-1)?.['sequence'])
      await new Promise((resolve) => setImmediate(resolve))
    }
    return [...found].map(([accountId, { count, oldestAt }]) => ({ accountId, count, oldestAt }))
  }

  async countFull(least: LeastFull): Promise<FullCounts> {
    return this.#counts.atLeast(least)
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}
