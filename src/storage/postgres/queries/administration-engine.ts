import { type Kysely, sql } from 'kysely'
import type { ConnectionId, MessageId } from '../../../core/ids.ts'
import { ERASED } from '../../../core/message/erased.ts'
import type { Engine, LaneStatus, OverviewEngine, Span } from '../../queries/engine.ts'
import type { Reader } from '../../queries/store.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { PERIOD_LENGTH, periodOf } from '../retention/periods.ts'

const HOUR_MS = 3_600_000
// A key is valid for a day, so a repeat lies in the period of the next day at the latest. One more, because a period only
// begins when a process opens it.
const REPEATED_FOR_PERIODS = 2

const postgresOverviewEngine: OverviewEngine = {
  enteredOfC: sql`queued e cross join lateral (select e.accepted_at) q where e.connection_id = c.id`,

  // Every message has its entry at once.
  findNotEntered: async () => [],

  async countWaiting(tables, accountId, most) {
    const { rows } = await sql<{ count: number }>`select count(*) as count
      from (select from queued where account_id = ${accountId} limit ${most}) found`.execute(tables)
    return rows[0]?.count ?? 0
  },

  // A transaction lock, because a pooler would lose a session lock. Between its statements the transaction holds no snapshot, so
  // it does not hold back vacuum.
  runAlone(tables, work) {
    return tables.transaction().execute(async (within) => {
      const { rows } = await sql<{ got: boolean }>`select pg_try_advisory_xact_lock(6, 0) as got`.execute(within)
      if (!rows[0]?.got) return false
      await work(within)
      return true
    })
  },

  async databaseBytes(tables) {
    const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(tables)
    return rows[0]?.bytes ?? 0
  },
}

export const postgresEngine: Engine = {
  overview: postgresOverviewEngine,

  async beginChange(tables) {
    await sql`select pg_advisory_xact_lock(3, 0)`.execute(tables)
  },

  async beginDelivering(tables) {
    await sql`select pg_advisory_xact_lock(7, 0)`.execute(tables)
  },

  async lockLane(tables, connectionId) {
    await sql`select lock_lane_of(${connectionId})`.execute(tables)
  },

  // In both tables, because a concurrent transaction may be moving it from one to the other.
  async lockMessage(tables, sequence) {
    await sql`select 1 from queued where sequence = ${sequence} for update`.execute(tables)
    await sql`select 1 from settled where sequence = ${sequence} for update`.execute(tables)
  },

  // From the last message backwards, as a worker that ends one and opens the next: in the other order the two could
  // deadlock. The condition is written as in `statuses`.
  async lockLastWaiting(tables, { connectionId, upTo, most }) {
    const lane = sql`select 1 from queued
      where connection_id >= ${connectionId} and connection_id <= ${connectionId} and sequence <= ${upTo}
      order by connection_id desc, sequence desc limit ${most}`
    await sql`${lane} for update`.execute(tables)
  },

  // In the order in which workers lock them, see `write_steps`.
  async lockMedia(tables, sequences) {
    await sql`select 1 from media where message_sequence in (${sql.join(sequences)}) order by message_sequence desc for update`.execute(
      tables,
    )
  },

  // Names no connection, as when a token changes.
  async notifyOfBlocks(tables) {
    await sql`select pg_notify('nuncio_change', '')`.execute(tables)
  },

  // Writes to the tables, because the view that administration uses does not change these columns.
  async eraseMessage(tables, { accountId, sequence, recipient, body, bodyCrc }) {
    await sql`update settled set recipient = ${recipient}, body = ${body}, body_crc = ${bodyCrc}, words = null, network_id = ${ERASED}
      where account_id = ${accountId} and sequence = ${sequence}`.execute(tables)
    await sql`update ended_attempt set words = null where message_sequence = ${sequence}`.execute(tables)
  },

  // A range condition and an order by both columns, so that the planner takes the lane's own index and not the one on all sequences.
  async statuses(tables, lanes, most) {
    await readByIndex(tables)
    const lane = sql`queued q where q.connection_id >= c.id and q.connection_id <= c.id
      order by q.connection_id, q.sequence`
    const { rows } = await sql<{ id: ConnectionId } & LaneStatus>`
      select c.id, (select count(*) from (select 1 from ${lane} limit ${most + 1}) few) as waiting,
          (select q.sequence from ${lane} limit 1) as head
        from connection c where c.id in (${sql.join(lanes)})`.execute(tables)
    return new Map(rows.map(({ id, waiting, head }) => [id, { waiting, head }]))
  },

  async publishedBefore(tables, { accountId, lanes, rows: most }) {
    await readByIndex(tables)
    const scans = sql.join(lanes.map(({ id, before }) => sql`(${id}, ${before ?? Number.MAX_SAFE_INTEGER}::bigint)`))
    const { rows } = await sql<{ id: ConnectionId; scanned: number; times: number[] | null }>`
      select l.id, count(*) as scanned,
          json_agg(m.published_at) filter (where m.connection_id = l.id and m.published_at is not null) as times
        from (values ${scans}) l (id, before) cross join lateral (
          select s.connection_id, s.published_at from settled s
            where (s.account_id, s.sequence) >= (${accountId}, 0) and (s.account_id, s.sequence) < (${accountId}, l.before)
            order by s.account_id desc, s.sequence desc limit ${most}) m
        group by l.id`.execute(tables)
    return new Map(rows.map(({ id, scanned, times }) => [id, { times: times ?? [], isWhole: scanned < most }]))
  },

  unfinishedOfC: sql`queued e cross join lateral (select e.accepted_at) q where e.connection_id = c.id`,

  async spans(tables) {
    const { rows } = await sql<{ number: number }>`select number from period order by number desc`.execute(tables)
    return rows.map(({ number }) => spanOf(number, number))
  },

  // Blocks of numbers are rarely full, so rows must be counted. The index alone suffices for that.
  async startOfRange(tables, { table, span, rows }) {
    const found = await tables
      .selectFrom(table)
      .select('sequence')
      .where('sequence', '<', span.before)
      .where('sequence', '>=', span.from)
      .orderBy('sequence', 'desc')
      .offset(rows - 1)
      .limit(1)
      .executeTakeFirst()
    return found?.sequence ?? span.from
  },

  // Rows are compared, because only the index of the account can do that. With an equation the planner often takes the index of all
  // sequences, and reads the rows of all accounts. The last two conditions choose partitions, and name whole ones for the same reason.
  ofAccount(accountId, { from, before }) {
    const days = spanOf(periodOf(from), periodOf(before - 1))
    return sql`(account_id, sequence) >= (${accountId}, ${from}) and (account_id, sequence) < (${accountId}, ${before})
      and sequence >= ${days.from} and sequence < ${days.before}`
  },

  async locate(tables, id) {
    const likely = await likelySpan(tables, id)
    return (likely && (await findIn(tables, id, likely))) ?? findIn(tables, id, null)
  },

  async locateMany(tables, ids) {
    const inOrder = ids.toSorted()
    const [oldest, newest] = [inOrder[0], inOrder.at(-1)]
    if (oldest === undefined || newest === undefined) return new Map()
    const [first, last] = [await likelySpan(tables, oldest), await likelySpan(tables, newest)]
    const likely = first && last ? { from: first.from, before: last.before } : null
    const found = likely ? await findManyIn(tables, ids, likely) : new Map<MessageId, number>()
    const others = ids.filter((id) => !found.has(id))
    return new Map([...found, ...(await findManyIn(tables, others, null))])
  },

  jsonText: (column, name) => sql`${sql.ref(column)}::json ->> ${sql.lit(name)}`,

  repeatsOf(message) {
    const period = periodOf(message)
    // A message that was copied from another database may be repeated in any later period.
    return [period === 0 ? { from: 0, before: Number.MAX_SAFE_INTEGER } : spanOf(period, period + REPEATED_FOR_PERIODS)]
  },

  repeatedBy({ from, before }) {
    const copied = spanOf(0, 0)
    return [copied, spanOf(Math.max(0, periodOf(from) - REPEATED_FOR_PERIODS), periodOf(before - 1))]
  },
}

/** The periods of a message whose id contains its time. The clock that made the id may differ from that of the database. */
async function likelySpan(tables: Kysely<Tables>, id: MessageId): Promise<Span | null> {
  const madeAt = /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : null
  if (madeAt === null) return null
  const { rows } = await sql<{ first: number | null; last: number | null }>`
    select (select max(number) from period where starts_at <= ${madeAt - HOUR_MS}) as first,
      (select max(number) from period where starts_at <= ${madeAt + HOUR_MS}) as last`.execute(tables)
  const [row] = rows
  return spanOf(row?.first ?? 0, row?.last ?? 0)
}

async function findIn(tables: Kysely<Tables>, id: MessageId, span: Span | null): Promise<number | null> {
  let query = tables.selectFrom('message').select('sequence').where('id', '=', id)
  if (span) query = query.where('sequence', '>=', span.from).where('sequence', '<', span.before)
  return (await query.executeTakeFirst())?.sequence ?? null
}

async function findManyIn(
  tables: Kysely<Tables>,
  ids: readonly MessageId[],
  span: Span | null,
): Promise<ReadonlyMap<MessageId, number>> {
  if (ids.length === 0) return new Map()
  let query = tables.selectFrom('message').select(['id', 'sequence']).where('id', 'in', ids)
  if (span) query = query.where('sequence', '>=', span.from).where('sequence', '<', span.before)
  return new Map((await query.execute()).map((row) => [row.id, row.sequence]))
}

function spanOf(first: number, last: number): Span {
  return { from: first * PERIOD_LENGTH, before: (last + 1) * PERIOD_LENGTH }
}

/** For the rest of the transaction: a few rows of each lane must never be read by a plan that reads all rows. */
async function readByIndex(tables: Reader): Promise<void> {
  await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true)`.execute(tables)
}
