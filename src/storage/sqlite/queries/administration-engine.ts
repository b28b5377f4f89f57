import { sql } from 'kysely'
import type { ConnectionId } from '../../../core/ids.ts'
import { ERASED } from '../../../core/message/erased.ts'
import type { Engine, LaneStatus, NotEntered, OverviewEngine, Span } from '../../queries/engine.ts'

// Entered a few times a second, so there are not more of them than are accepted in that time.
const LONGEST_TAIL = 50_000

const ALL: Span = { from: 0, before: Number.MAX_SAFE_INTEGER }

const sqliteOverviewEngine: OverviewEngine = {
  // In this order, as `cross join` has it: the entries of one lane lie beside each other.
  enteredOfC: sql`lane_entry e cross join message q on q.sequence = e.sequence
    where e.connection_id = c.id and q.state = 'QUEUED'`,

  async findNotEntered(tables, accountId) {
    const { rows } = await sql<NotEntered>`
      select connection_id as "connectionId", count(*) as count, min(accepted_at) as "oldestAt",
          min(sequence) as head from message
        where sequence > (select sequence from indexed_through) and state = 'QUEUED' and account_id = ${accountId}
        group by connection_id`.execute(tables)
    return rows
  },

  async countWaiting(tables, accountId, most) {
    const entered = sql`select 1 from connection c cross join lane_entry e cross join message q
      where c.account_id = ${accountId} and e.connection_id = c.id and q.sequence = e.sequence and q.state = 'QUEUED'`
    const newest = sql`select 1 from message where sequence > (select sequence from indexed_through)
      and account_id = ${accountId} and state = 'QUEUED'`
    const { rows } = await sql<{ count: number }>`select count(*) as count
      from (select * from (${entered}) union all select * from (${newest}) limit ${most})`.execute(tables)
    return rows[0]?.count ?? 0
  },

  // The service is alone on its file (service-lock.ts), and there is one counter in it.
  async runAlone(tables, work) {
    await work(tables)
    return true
  },

  async databaseBytes(tables) {
    const { rows } = await sql<{ bytes: number }>`select c.page_count * s.page_size as bytes
      from pragma_page_count c cross join pragma_page_size s`.execute(tables)
    return rows[0]?.bytes ?? 0
  },
}

/** A change begins as the only writer there is, and each table is one. */
export const sqliteEngine: Engine = {
  overview: sqliteOverviewEngine,

  async beginChange() {},
  async beginDelivering() {},
  async lockLane() {},
  async lockMessage() {},
  async lockLastWaiting() {},
  async lockMedia() {},
  // Readers notice the commits of other connections.
  async notifyOfBlocks() {},

  async eraseMessage(tables, { sequence, recipient, body, bodyCrc }) {
    await tables
      .updateTable('message')
      .set({ recipient, body, body_crc: bodyCrc, words: null, network_id: ERASED })
      .where('sequence', '=', sequence)
      .execute()
    await tables.updateTable('attempt').set({ words: null }).where('message_sequence', '=', sequence).execute()
  },

  // The newest have no entry yet and no index of their connection, so they are scanned once for all lanes.
  async statuses(tables, lanes, most) {
    const entered = sql`lane_entry e cross join message q on q.sequence = e.sequence
      where e.connection_id = c.id and q.state = 'QUEUED' and e.sequence <= (select sequence from indexed_through)`
    const { rows } = await sql<{ id: ConnectionId } & LaneStatus>`
      with tail as materialized (
        select connection_id, count(*) as waiting, min(sequence) as head from (
          select connection_id, sequence from message
            where sequence > (select sequence from indexed_through) and state = 'QUEUED' limit ${LONGEST_TAIL})
          group by connection_id)
      select c.id, (select count(*) from (select 1 from ${entered} limit ${most + 1})) + coalesce(tail.waiting, 0) as waiting,
          coalesce((select e.sequence from ${entered} order by e.sequence limit 1), tail.head) as head
        from connection c left join tail on tail.connection_id = c.id where c.id in (${sql.join(lanes)})`.execute(
      tables,
    )
    return new Map(rows.map(({ id, waiting, head }) => [id, { waiting: Math.min(waiting, most + 1), head }]))
  },

  async publishedBefore(tables, { accountId, lanes, rows: most }) {
    const scans = sql.join(lanes.map(({ id, before }) => sql`(${id}, ${before})`))
    const { rows } = await sql<{ id: ConnectionId; start: number; at: number | null }>`
      with scan (id, before) as (values ${scans}),
        bound (id, before) as (
          select id, coalesce(before, (select max(sequence) + 1 from message), 0) from scan)
      select l.id, l.before - ${most} as start, m.published_at as at
        from bound l left join message m on m.sequence >= l.before - ${most} and m.sequence < l.before
          and m.connection_id = l.id and m.account_id = ${accountId} and m.published_at is not null`.execute(tables)
    const found = Map.groupBy(rows, ({ id }) => id)
    return new Map(
      [...found].map(([id, some]) => {
        const times = some.flatMap(({ at }) => (at === null ? [] : [at]))
        return [id, { times, isWhole: (some[0]?.start ?? 0) <= 1 }]
      }),
    )
  },

  // A lane also keeps entries of messages that have come to their end, so the message itself is asked each time. The
  // first column must stay the entry's: a lane is found by it, and by nothing else.
  unfinishedOfC: sql`(
    select sequence from lane_entry where connection_id = c.id
    union
    select sequence from message where sequence > (select sequence from indexed_through) and connection_id = c.id
  ) e join message q on q.sequence = e.sequence
  where q.state = 'QUEUED'`,

  spans: async () => [ALL],
  // Sequences have hardly any gaps, but for those that we step over.
  startOfRange: async (_, { span, rows }) => Math.max(span.from, span.before - rows),
  ofAccount: (accountId, { from, before }) =>
    sql`account_id = ${accountId} and sequence >= ${from} and sequence < ${before}`,
  async locate(tables, id) {
    const row = await tables.selectFrom('message').select('sequence').where('id', '=', id).executeTakeFirst()
    return row?.sequence ?? null
  },
  async locateMany(tables, ids) {
    if (ids.length === 0) return new Map()
    const rows = await tables.selectFrom('message').select(['id', 'sequence']).where('id', 'in', ids).execute()
    return new Map(rows.map((row) => [row.id, row.sequence]))
  },
  jsonText: (column, name) => sql`${sql.ref(column)} ->> ${sql.lit(`$.${name}`)}`,
  repeatsOf: () => [ALL],
  repeatedBy: () => [ALL],
}
