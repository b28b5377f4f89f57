import { sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import { countRequests } from '../api-log/count-requests.ts'
import type { Span } from '../engine.ts'
import type { Reading } from '../store.ts'
import { ALL_CONNECTIONS, HourTally, talliedAs } from './hour-tally.ts'
import { HOUR_MS, MINUTE_MS } from './hours.ts'
import { edgeOf, type LongTable, lowerBoundByTime } from './lower-bound-by-time.ts'
import { writeHour } from './write-hour.ts'

// Several processes number rows at once, so numbers are only roughly in the order of time.
const MARGIN_MS = MINUTE_MS
// Some milliseconds, during which other users of the thread or the connection wait.
const ROWS_AT_ONCE = 5_000

/**
 * The reason of a message that may need a person's action; null: no action is needed, or it was taken. A recipient that is
 * on the block list was put there on purpose.
 */
export const OPEN_REASON = sql<string | null>`case when state in ('FAILED', 'EXPIRED', 'UNCONFIRMED')
  and resent_as is null and resolved_at is null and coalesce(reason, '') <> 'recipient_blocked'
  then coalesce(reason, '') end`

/** Rests in proportion to the `tookMs` of the last step. False: give up. */
export type Rest = (tookMs: number) => Promise<boolean>

/**
 * Counts the results of the messages that were accepted within an hour and the requests that were refused in it, and stores
 * the figures. It counts in small steps, each message by its state at that time. If `rest` says to give up, it stores nothing.
 */
export async function countHour(
  reading: Reading,
  { hour, now, rest }: { readonly hour: Instant; readonly now: Instant; readonly rest: Rest },
): Promise<void> {
  const tally = new HourTally()
  const isThrough =
    (await walk(reading, { table: 'message', hour, rest }, (span) => addMessages(reading, { hour, span }, tally))) &&
    (await walk(reading, { table: 'request', hour, rest }, (span) => addRefused(reading, { hour, span }, tally)))
  if (isThrough) await writeHour(reading, { hour, countedAt: now, tally })
}

interface Walk {
  readonly table: LongTable
  readonly hour: Instant
  readonly rest: Rest
}

/** From the newest number of the hour backwards. */
async function walk(
  reading: Reading,
  { table, hour, rest }: Walk,
  add: (span: Span) => Promise<void>,
): Promise<boolean> {
  const first = await lowerBoundByTime(reading, table, hour - MARGIN_MS)
  const past = hour + HOUR_MS + MARGIN_MS
  if (first === null || first.at >= past) return true
  const from = first.sequence
  let before = (await lowerBoundByTime(reading, table, past))?.sequence ?? Number.MAX_SAFE_INTEGER
  while (before > from) {
    const begunAt = performance.now()
    const start = await startOfRange(reading, table, { from, before })
    await add({ from: start, before })
    before = start
    if (!(await rest(performance.now() - begunAt))) return false
  }
  return true
}

async function startOfRange(reading: Reading, table: LongTable, span: Span): Promise<Sequence> {
  const newest = await edgeOf(reading, table, { span, newest: true })
  if (!newest) return span.from
  const behind = { from: span.from, before: newest.sequence + 1 }
  return reading.engine.startOfRange(reading.tables, { table, span: behind, rows: ROWS_AT_ONCE })
}

interface Part {
  readonly hour: Instant
  readonly span: Span
}

async function addMessages({ tables }: Reading, { hour, span }: Part, tally: HourTally): Promise<void> {
  const rows = await tables
    .selectFrom('message')
    .select(({ fn }) => [
      'account_id',
      'connection_id',
      'state',
      OPEN_REASON.as('open_reason'),
      fn.countAll<number>().as('count'),
      fn.max('accepted_at').as('latest_at'),
    ])
    .where('sequence', '>=', span.from)
    .where('sequence', '<', span.before)
    .where('accepted_at', '>=', hour)
    .where('accepted_at', '<', hour + HOUR_MS)
    .groupBy(['account_id', 'connection_id', 'state', OPEN_REASON])
    .execute()
  for (const row of rows) {
    const { account_id, connection_id, state, count, latest_at, open_reason: reason } = row
    tally.add({ account_id, connection_id, state: talliedAs(state), count })
    if (reason !== null) tally.addReason({ account_id, state, reason, count, latest_at })
  }
}

async function addRefused({ tables }: Reading, { hour, span }: Part, tally: HourTally): Promise<void> {
  const rows = await tables
    .selectFrom('request')
    .select(['account_id', countRequests().as('count')])
    .where('sequence', '>=', span.from)
    .where('sequence', '<', span.before)
    .where('received_at', '>=', hour)
    .where('received_at', '<', hour + HOUR_MS)
    // The other requests repeat one that was accepted.
    .where('message_id', 'is', null)
    .groupBy('account_id')
    .execute()
  for (const row of rows) tally.add({ ...row, connection_id: ALL_CONNECTIONS, state: 'refused' })
}
