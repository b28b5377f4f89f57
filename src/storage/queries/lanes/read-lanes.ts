import { type SqlBool, sql } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { NetworkCheck } from '../../../core/ports/administration.ts'
import type {
  BoundedCount,
  LaneOverview,
  LaneViews,
  MeasuredPace,
  OfConnection,
} from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { selectWithLanes, toConnectionFacts } from '../connections/connections.ts'
import type { LaneStatus, PublishedBefore } from '../engine.ts'
import { type Reader, type Reading, type Store, snapshot } from '../store.ts'
import { mayBeEnded, type SinceColumn, timelineEntryOf, whyStandsStill } from './lane-reason.ts'

const PAGE = 25

/** How many rows are read for each lane: many for its own page, few for a list. */
interface Effort {
  readonly counted: number
  readonly rowsBack: number
}

const IN_LIST: Effort = { counted: 1_000, rowsBack: 300 }
const ALONE: Effort = { counted: 10_000, rowsBack: 3_000 }

export async function listLanes(
  store: Store,
  { accountId, find, after }: Parameters<LaneViews['listLanes']>[0],
): ReturnType<LaneViews['listLanes']> {
  const moment = await timelineEntryOf(store)
  return snapshot(store, async (tables) => {
    const rows = await selectLanes(tables, accountId, moment.now)
      .where('c.number', '>', after ?? '')
      .$if(find !== null, (query) => query.where('c.number', '>=', find ?? '').where('c.number', '<', `${find ?? ''}:`))
      .orderBy('c.number')
      .limit(PAGE + 1)
      .execute()
    const page = rows.slice(0, PAGE)
    const items = await toOverviews({ tables, engine: store.engine }, page, { ...moment, ...IN_LIST })
    return { items, next: rows.length > PAGE ? (page.at(-1)?.number ?? null) : null }
  })
}

export async function readLane(store: Store, { accountId, id }: OfConnection): Promise<LaneOverview> {
  const moment = await timelineEntryOf(store)
  return snapshot(store, async (tables) => {
    const rows = await selectLanes(tables, accountId, moment.now).where('c.id', '=', id).execute()
    const reading = { tables, engine: store.engine }
    const [lane] = await toOverviews(reading, rows, { ...moment, ...ALONE })
    if (!lane) throw connectionUnknown()
    return lane
  })
}

/** The same for another account's connection, a removed one, and one that never was. */
function connectionUnknown(): Refusal {
  return new Refusal('connection_unknown', 'There is no such connection in this account. It may have been removed.')
}

function selectLanes(tables: Reader, accountId: AccountId, now: Instant) {
  return selectWithLanes(tables, now).where('c.account_id', '=', accountId).select(['c.network_check', 'c.created_at'])
}

type LaneRow = Awaited<ReturnType<ReturnType<typeof selectLanes>['execute']>>[number]

async function toOverviews(
  reading: Reading,
  rows: readonly LaneRow[],
  { counted, rowsBack, ...moment }: Effort & SinceColumn,
): Promise<LaneOverview[]> {
  const [first] = rows
  if (!first) return []
  const ids = rows.map(({ id }) => id)
  const statuses = await reading.engine.statuses(reading.tables, ids, counted)
  const oldest = await readAcceptance(reading.tables, [...statuses.values()])
  const wanted = {
    accountId: first.account_id,
    lanes: ids,
    headOf: (id: ConnectionId) => statuses.get(id)?.head ?? null,
  }
  const paces = await measurePaces(reading, wanted, { now: moment.now, rowsBack })
  return rows.map((row) => {
    const status = statuses.get(row.id) ?? { waiting: 0, head: null }
    const still = whyStandsStill(row, status.waiting, moment)
    return {
      ...toConnectionFacts(row),
      state: row.connection_state === 'paused' ? 'paused' : 'active',
      networkCheck: JSON.parse(row.network_check ?? 'null') as NetworkCheck | null,
      createdAt: row.created_at,
      waiting: bounded(status.waiting, counted),
      oldestWaitingAt: oldest.get(status.head ?? -1) ?? null,
      pace: paces.get(row.id) ?? NO_PACE,
      standsStill: still && { ...still, canBeEnded: row.connection_state === 'active' && mayBeEnded(still.reason) },
    }
  })
}

function bounded(count: number, most: number): BoundedCount {
  return { count: Math.min(count, most), isMore: count > most }
}

async function readAcceptance(
  tables: Reader,
  statuses: readonly LaneStatus[],
): Promise<ReadonlyMap<Sequence, Instant>> {
  const sequences = statuses.flatMap(({ head }) => (head === null ? [] : [head]))
  if (sequences.length === 0) return new Map()
  const rows = await tables
    .selectFrom('message')
    .where('sequence', 'in', sequences)
    .select(['sequence', 'accepted_at'])
    .execute()
  return new Map(rows.map((row) => [row.sequence, row.accepted_at]))
}

const MINUTE_MS = 60_000
const NOTHING: PublishedBefore = { times: [], isWhole: true }

interface Wanted {
  readonly accountId: AccountId
  readonly lanes: readonly ConnectionId[]
  readonly headOf: (id: ConnectionId) => Sequence | null
}

interface PaceEffort {
  readonly now: Instant
  readonly rowsBack: number
}

/**
 * The recent pace of lanes. The messages of one lane are published in order, so the last published ones stand right before
 * its head, or among the newest messages of all when nothing waits. The scan covers a fixed number of rows, because many
 * other lanes may lie in between.
 */
async function measurePaces(
  { tables, engine }: Reading,
  { accountId, lanes, headOf }: Wanted,
  { now, rowsBack }: PaceEffort,
): Promise<ReadonlyMap<ConnectionId, MeasuredPace>> {
  const scans = lanes.map((id) => ({ id, before: headOf(id) }))
  const found = await engine.publishedBefore(tables, { accountId, lanes: scans, rows: rowsBack })
  return new Map(lanes.map((id) => [id, toPace(found.get(id) ?? NOTHING, now)]))
}

function toPace({ times, isWhole }: PublishedBefore, now: Instant): MeasuredPace {
  const lately = times.filter((at) => at > now - MINUTE_MS)
  const spanMs = Math.max(...lately) - Math.min(...lately)
  return {
    publishedInLastMinute: {
      count: lately.length,
      isMore: !isWhole && lately.length > 0 && lately.length === times.length,
    },
    lastPublishedAt: times.length === 0 ? null : Math.max(...times),
    perMessageMs: lately.length < 2 ? null : spanMs / (lately.length - 1),
  }
}

const NO_PACE: MeasuredPace = toPace(NOTHING, 0)

/** A connection of the account that was not removed. Refuses with `connection_unknown`. */
export async function livingConnection(tables: Reader, { accountId, id }: OfConnection) {
  const connection = await tables
    .selectFrom('connection')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where(sql<SqlBool>`state <> 'removed'`)
    .executeTakeFirst()
  if (!connection) throw connectionUnknown()
  return connection
}
