import { type Kysely, sql } from 'kysely'
import type { MessageId } from '../../core/ids.ts'
import type { Engine, Span } from '../shared/engine.ts'
import type { Tables } from '../shared/tables.ts'
import { PERIOD_LENGTH, periodOf } from './periods.ts'

const HOUR_MS = 3_600_000
// A key names its message for a day, so what repeats it lies in the period of the next day at the latest. One more,
// because periods begin when somebody begins them.
const REPEATED_FOR_PERIODS = 2

export const postgresEngine: Engine = {
  async beginChange(tables) {
    await sql`select pg_advisory_xact_lock(3, 0)`.execute(tables)
  },

  async lockLane(tables, connectionId) {
    await sql`select lock_lane_of(${connectionId})`.execute(tables)
  },

  // Where it waits, and where it has ended: it may be on its way from the one to the other.
  async lockMessage(tables, sequence) {
    await sql`select 1 from queued where sequence = ${sequence} for update`.execute(tables)
    await sql`select 1 from settled where sequence = ${sequence} for update`.execute(tables)
  },

  // From the last one backwards, as a worker takes them that ends one and opens the next: in the other order the two
  // could wait for each other.
  async lockLastWaiting(tables, connectionId, most) {
    const lane = sql`select 1 from queued where connection_id = ${connectionId} order by sequence desc limit ${most}`
    await sql`${lane} for update`.execute(tables)
  },

  unfinishedOfC: sql`queued e cross join lateral (select e.accepted_at) q where e.connection_id = c.id`,

  async spans(tables) {
    const { rows } = await sql<{ number: number }>`select number from period order by number desc`.execute(tables)
    return rows.map(({ number }) => spanOf(number, number))
  },

  // Blocks of numbers are hardly ever used up, so rows are counted, in the index alone.
  async startOfStretch(tables, { table, span, rows }) {
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

  async locate(tables, id) {
    const likely = await likelySpan(tables, id)
    return (likely && (await findIn(tables, id, likely))) ?? findIn(tables, id, null)
  },

  repeatsOf(message) {
    const period = periodOf(message)
    // What was copied from elsewhere may be repeated in any later period.
    return [period === 0 ? { from: 0, before: Number.MAX_SAFE_INTEGER } : spanOf(period, period + REPEATED_FOR_PERIODS)]
  },

  repeatedBy({ from, before }) {
    const copied = spanOf(0, 0)
    return [copied, spanOf(Math.max(0, periodOf(from) - REPEATED_FOR_PERIODS), periodOf(before - 1))]
  },
}

/** Where a message lies whose id tells when it was made. The clocks of who made it and of the database may differ. */
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

function spanOf(first: number, last: number): Span {
  return { from: first * PERIOD_LENGTH, before: (last + 1) * PERIOD_LENGTH }
}
