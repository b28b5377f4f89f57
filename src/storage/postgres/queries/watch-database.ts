import type { AccountId, ConnectionId, WorkerId } from '../../../core/ids.ts'
import type { LaneMeasure, LaneToMeasure, Throttle, Unconfirmed } from '../../../core/ports/watch.ts'
import type {
  FullCounts,
  LeastFull,
  WatchDatabase,
  WatchRow,
  WatchStatement,
  WatchValue,
} from '../../queries/alarms/watch-database.ts'
import { countOn } from '../accept/backlog.ts'
import { FullCount } from '../accept/full-count.ts'
import { bigintArray, textArray } from '../connection/binary-arrays.ts'
import type { PgConnection, Query } from '../connection/pg-connection.ts'

const MOST_UNCONFIRMED = 100_000

/** The queries of the watchdog on PostgreSQL. */
export class PostgresWatchDatabase implements WatchDatabase {
  // A range condition and an order by both columns. Otherwise the planner may read the index of all sequences up to the head.
  readonly headOfC =
    'select m.sequence from queued m where m.connection_id >= c.id and m.connection_id <= c.id order by m.connection_id, m.sequence limit 1'
  readonly unfinished = 'queued'
  readonly undelivered = `from settled m where m.state = 'PUBLISHED'
    and (m.network_id like 'bridge:%' or m.network_id like 'wamid.%')`
  readonly #pgConnection: PgConnection
  readonly #full: FullCount

  /** `counts`: for slow queries. `waiting`: estimate of how many messages wait in all. */
  constructor(parts: { pgConnection: PgConnection; counts: PgConnection; waiting: () => number }) {
    this.#pgConnection = parts.pgConnection
    const query: Query = (sql, values) => parts.counts.query(sql, values)
    this.#full = new FullCount({
      query,
      count: (steps, withinMs) => countOn(query, steps, withinMs),
      waiting: parts.waiting,
      monotonic: () => performance.now(),
    })
  }

  query(sql: string, values: readonly WatchValue[]): Promise<readonly WatchRow[]> {
    return this.#pgConnection.query(numbered(sql), values)
  }

  /** Without a transaction: each statement writes one whole alarm, so writing only some of them does no harm. */
  async write(statements: readonly WatchStatement[]): Promise<void> {
    for (const { sql, values } of statements) await this.#pgConnection.query(numbered(sql), values)
  }

  async acquireLease(watcher: WorkerId, lastsMs: number): Promise<boolean> {
    const rows = await this.#pgConnection.query(
      `update watch set watcher = $1, until = now_ms() + $2::bigint
        where "only" = 1 and (watcher = $1 or until < now_ms() or until > now_ms() + $2::bigint) returning 1`,
      [watcher, lastsMs],
    )
    return rows.length > 0
  }

  async releaseLease(watcher: WorkerId): Promise<void> {
    await this.#pgConnection.query('update watch set until = 0 where "only" = 1 and watcher = $1', [watcher])
  }

  busyLanes(limit: number): string {
    return `with recursive found (id) as (
        select (select connection_id from queued where connection_id > ? order by connection_id limit 1)
        union all
        select (select connection_id from queued where connection_id > found.id order by connection_id limit 1)
          from found where found.id is not null),
      busy (id) as (select id from found where id is not null limit ${limit})`
  }

  async measureLanes(lanes: readonly LaneToMeasure[]): Promise<ReadonlyMap<ConnectionId, LaneMeasure>> {
    const rows = await this.#pgConnection.query(
      `select (select count(*) from (select from queued where connection_id = l.id collate "C" limit l.most + 1) found) as waiting,
          (select accepted_at from queued where connection_id >= l.id collate "C" and connection_id <= l.id collate "C"
            order by connection_id desc, sequence desc limit 1) as newest
        from unnest($1::text[], $2::bigint[]) with ordinality l (id, most, place) order by place`,
      [textArray(lanes.map(({ id }) => id)), bigintArray(lanes.map(({ most }) => most))],
    )
    return new Map(
      lanes.map(({ id, most }, at) => {
        const waiting = Number(rows[at]?.['waiting'])
        const newestAt = (rows[at]?.['newest'] as number | null | undefined) ?? null
        return [id, { waiting: Math.min(waiting, most), isMore: waiting > most, newestAt }]
      }),
    )
  }

  async readUnconfirmed(): Promise<readonly Unconfirmed[]> {
    const rows = await this.#pgConnection.query(
      `select account_id, count(*) as count, min(accepted_at) as oldest
        from (select account_id, accepted_at from settled
          where state = 'UNCONFIRMED' and resolved_at is null order by sequence limit ${MOST_UNCONFIRMED}) found
        group by account_id`,
    )
    return rows.map((row) => ({
      accountId: row['account_id'] as AccountId,
      count: Number(row['count']),
      oldestAt: Number(row['oldest']),
    }))
  }

  countFull(least: LeastFull, throttle: Throttle): Promise<FullCounts | null> {
    return this.#full.atLeast(least, throttle)
  }
}

function numbered(sql: string): string {
  let place = 0
  return sql.replaceAll('?', () => `$${++place}`)
}
