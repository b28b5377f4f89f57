import type { Instant } from '../../../core/ids.ts'
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

/** Stores the figures of an hour, in one transaction. It writes only the accounts whose figures have changed, usually few. */
export async function writeHour(
  { tables }: Pick<Reading, 'tables'>,
  { hour, countedAt, tally }: CountedHour,
): Promise<void> {
  const kept = {
    counts: await tables.selectFrom('tally').selectAll().where('hour', '=', hour).execute(),
    reasons: await tables.selectFrom('tally_reason').selectAll().where('hour', '=', hour).execute(),
  }
  const { counts, reasons } = hour >= firstWhole(countedAt) ? tally : withoutLosses(tally, kept)
  const write = async (within: Reader) => {
    // The hour first: a person's action that corrects its figures locks it, too.
    await within
      .insertInto('tally_hour')
      .values({ hour, counted_at: countedAt })
      .onConflict((same) => same.column('hour').doUpdateSet({ counted_at: countedAt }))
      .execute()
    await writeRows(
      within,
      'tally',
      [...counts.values()].map((row) => ({ ...row, hour })),
      kept.counts,
    )
    await writeRows(
      within,
      'tally_reason',
      [...reasons.values()].map((row) => ({ ...row, hour })),
      kept.reasons,
    )
  }
  await (tables.isTransaction ? write(tables) : tables.transaction().execute(write))
}

type Figures = (TallyRow | ReasonRow) & { readonly hour: Instant }

// biome-ignore lint/complexity/useMaxParams: a table, and its rows before and after
async function writeRows(
  tables: Reader,
  table: 'tally' | 'tally_reason',
  found: readonly Figures[],
  kept: readonly Figures[],
): Promise<void> {
  const [after, before] = [textOfEach(found), textOfEach(kept)]
  const changed = new Set([...after.keys(), ...before.keys()].filter((id) => after.get(id) !== before.get(id)))
  const { hour } = found[0] ?? kept[0] ?? { hour: 0 }
  for (const ids of chunks([...changed]))
    await tables.deleteFrom(table).where('hour', '=', hour).where('account_id', 'in', ids).execute()
  for (const rows of chunks(found.filter((row) => changed.has(row.account_id))))
    await tables
      .insertInto(table as 'tally')
      .values(rows as (TallyRow & { hour: Instant })[])
      .execute()
}

/** The figures of each account, to be compared. */
function textOfEach(rows: readonly Figures[]) {
  const accounts = Map.groupBy(rows, (row) => row.account_id)
  const textOf = (row: Figures) => JSON.stringify(Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1)))
  return new Map([...accounts].map(([id, own]) => [id, own.map(textOf).sort().join()]))
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
  for (const row of counts.values()) tally.add(row)
  const reasons = new Map(found.reasons)
  for (const row of kept.reasons)
    if (row.count > (reasons.get(reasonKey(row))?.count ?? 0)) reasons.set(reasonKey(row), row)
  for (const row of reasons.values()) tally.addReason(row)
  return tally
}

function* chunks<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += ROWS_AT_ONCE) yield items.slice(at, at + ROWS_AT_ONCE)
}
