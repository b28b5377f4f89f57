import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { Reader, Reading } from '../store.ts'
import { ALL_CONNECTIONS, HourTally, type ReasonRow, reasonKey, type TallyRow, tallyKey } from './hour-tally.ts'
import { firstWhole } from './hours.ts'

// As many values as one statement may have: six for each row.
const ROWS_AT_ONCE = 500

interface CountedHour {
  readonly hour: Instant
  readonly countedAt: Instant
  readonly tally: HourTally
}

/** Keeps the figures of an hour, in one transaction. Only what has changed is written: mostly little has. */
export async function writeHour({ tables }: Pick<Reading, 'tables'>, counted: CountedHour): Promise<void> {
  const kept = {
    counts: await tables.selectFrom('tally').selectAll().where('hour', '=', counted.hour).execute(),
    reasons: await tables.selectFrom('tally_reason').selectAll().where('hour', '=', counted.hour).execute(),
  }
  const isWhole = counted.hour >= firstWhole(counted.countedAt)
  const figures = isWhole ? counted : { ...counted, tally: withoutLosses(counted.tally, kept) }
  const write = async (within: Reader) => {
    // The hour first: a person's action that corrects its figures locks it, too.
    await within
      .insertInto('tally_hour')
      .values({ hour: counted.hour, counted_at: counted.countedAt })
      .onConflict((same) => same.column('hour').doUpdateSet({ counted_at: counted.countedAt }))
      .execute()
    await writeCounts(within, figures, kept.counts)
    await writeReasons(within, figures, kept.reasons)
  }
  await (tables.isTransaction ? write(tables) : tables.transaction().execute(write))
}

async function writeCounts(tables: Reader, { hour, tally }: CountedHour, kept: readonly TallyRow[]): Promise<void> {
  const before = new Map(kept.map((row) => [tallyKey(row), row.count]))
  const changed = [...tally.counts].filter(([key, row]) => before.get(key) !== row.count)
  for (const rows of chunks(changed)) {
    await tables
      .insertInto('tally')
      .values(rows.map(([, row]) => ({ ...row, hour })))
      .onConflict((same) =>
        same
          .columns(['account_id', 'connection_id', 'hour', 'state'])
          .doUpdateSet((row) => ({ count: row.ref('excluded.count') })),
      )
      .execute()
  }
  for (const gone of kept.filter((row) => !tally.counts.has(tallyKey(row)))) {
    await tables
      .deleteFrom('tally')
      .where('account_id', '=', gone.account_id)
      .where('connection_id', '=', gone.connection_id)
      .where('hour', '=', hour)
      .where('state', '=', gone.state)
      .execute()
  }
}

async function writeReasons(tables: Reader, { hour, tally }: CountedHour, kept: readonly ReasonRow[]): Promise<void> {
  const before = new Map(kept.map((row) => [reasonKey(row), row]))
  const changed = [...tally.reasons].filter(([key, row]) => {
    const known = before.get(key)
    return known?.count !== row.count || known.latest_at !== row.latest_at
  })
  for (const rows of chunks(changed)) {
    await tables
      .insertInto('tally_reason')
      .values(rows.map(([, row]) => ({ ...row, hour })))
      .onConflict((same) =>
        same
          .columns(['account_id', 'hour', 'state', 'reason'])
          .doUpdateSet((row) => ({ count: row.ref('excluded.count'), latest_at: row.ref('excluded.latest_at') })),
      )
      .execute()
  }
  for (const gone of kept.filter((row) => !tally.reasons.has(reasonKey(row)))) {
    await tables
      .deleteFrom('tally_reason')
      .where('account_id', '=', gone.account_id)
      .where('hour', '=', hour)
      .where('state', '=', gone.state)
      .where('reason', '=', gone.reason)
      .execute()
  }
}

interface Kept {
  readonly counts: readonly TallyRow[]
  readonly reasons: readonly ReasonRow[]
}

/**
 * An old hour is counted again only because some of its messages still wait; others may have been deleted since. Waiting
 * messages are never deleted, but no other figure may shrink. The figures of an account are the sums of its connections.
 */
function withoutLosses(found: HourTally, kept: Kept): HourTally {
  const tally = new HourTally()
  const isPart = ({ connection_id: id, state }: TallyRow) => id !== ALL_CONNECTIONS || state === 'refused'
  const counts = new Map([...found.counts].filter(([, row]) => isPart(row)))
  for (const row of kept.counts.filter((one) => isPart(one) && one.state !== 'waiting'))
    if (row.count > (counts.get(tallyKey(row))?.count ?? 0)) counts.set(tallyKey(row), row)
  for (const { account_id: accountId, connection_id: id, state, count } of counts.values())
    tally.add({ accountId, connectionId: id === ALL_CONNECTIONS ? null : (id as ConnectionId), state, count })
  const reasons = new Map(found.reasons)
  for (const row of kept.reasons)
    if (row.count > (reasons.get(reasonKey(row))?.count ?? 0)) reasons.set(reasonKey(row), row)
  for (const { account_id: accountId, state, reason, count, latest_at: latestAt } of reasons.values())
    tally.addReason({ accountId, state, reason, count, latestAt })
  return tally
}

function* chunks<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += ROWS_AT_ONCE) yield items.slice(at, at + ROWS_AT_ONCE)
}
