import { type SqlBool, sql } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { NetworkCheck } from '../../../core/ports/administration.ts'
import {
  type BoundedCount,
  LANE_GROUPS,
  type LaneGroup,
  type LaneOverview,
  type LaneViews,
  type MeasuredPace,
  type OfConnection,
} from '../../../core/ports/console/lanes.ts'
import type { ReasonCode } from '../../../core/reasons.ts'
import { Refusal } from '../../../core/refusals.ts'
import { selectWithLanes, toConnectionFacts } from '../connections/connections.ts'
import type { LaneStatus, PublishedBefore } from '../engine.ts'
import { type Reader, type Reading, type Store, snapshot } from '../store.ts'
import {
  type LaneContext,
  type LaneFacts,
  laneContextOf,
  laneFacts,
  mayBeEnded,
  whyStandsStill,
} from './lane-reason.ts'

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
  { accountId, find, group, after }: Parameters<LaneViews['listLanes']>[0],
): ReturnType<LaneViews['listLanes']> {
  const context = await laneContextOf(store)
  return snapshot(store, async (tables) => {
    const reading = { tables, engine: store.engine }
    const all = await findGroups(reading, accountId, context)
    const counts = { problem: 0, paused: 0, waiting: 0, ready: 0 }
    for (const lane of all) counts[lane.group] += 1
    const wanted = all
      .filter((lane) => (group === null || lane.group === group) && isFound(lane, find))
      .map((lane) => ({ ...lane, place: placeOf(lane) }))
      .sort((one, other) => (one.place < other.place ? -1 : 1))
      .filter(({ place }) => after === null || place > after)
    const page = wanted.slice(0, PAGE)
    const items = await readOverviews(reading, accountId, { ids: page.map(({ id }) => id), ...context })
    return { items, next: wanted.length > PAGE ? (page.at(-1)?.place ?? null) : null, counts }
  })
}

function isFound({ number, name }: { readonly number: string; readonly name: string | null }, find: string | null) {
  return find === null || number.startsWith(find) || (name?.toLowerCase().includes(find.toLowerCase()) ?? false)
}

/** Sorts as text: the group first. */
function placeOf({ group, number }: { readonly group: LaneGroup; readonly number: string }): string {
  return `${LANE_GROUPS.indexOf(group)}-${number}`
}

/** Reads each connection of the account once, and of each lane no more than whether anything waits. */
async function findGroups({ tables, engine }: Reading, accountId: AccountId, context: LaneContext) {
  const rows = await tables
    .selectFrom('connection as c')
    .leftJoin('open_attempt as o', 'o.connection_id', 'c.id')
    .leftJoin('lane as l', 'l.connection_id', 'c.id')
    .leftJoin('worker as w', 'w.id', 'l.owner')
    .where('c.account_id', '=', accountId)
    .where(sql<SqlBool>`c.state <> 'removed'`)
    .select([
      'c.id',
      'c.number',
      'c.name',
      sql<number | null>`(select 1 from ${engine.unfinishedOfC} limit 1)`.as('has_waiting'),
      ...laneFacts(context.now),
    ])
    .execute()
  return rows.map((row) => ({
    id: row.id,
    number: row.number,
    name: row.name,
    group: groupOf(row, row.has_waiting ?? 0, context),
  }))
}

// What its owner has set, and what no message waits for alone.
const NO_PROBLEM: ReadonlySet<string> = new Set<ReasonCode>(['pace', 'quiet_hours', 'all_deferred'])

function groupOf(lane: LaneFacts, waiting: number, context: LaneContext): LaneGroup {
  const still = whyStandsStill(lane, waiting, context)
  if (still && still.reason !== 'paused' && !NO_PROBLEM.has(still.reason)) return 'problem'
  if (lane.connection_state === 'paused') return 'paused'
  return waiting > 0 ? 'waiting' : 'ready'
}

async function readOverviews(
  reading: Reading,
  accountId: AccountId,
  { ids, ...context }: LaneContext & { readonly ids: readonly ConnectionId[] },
): Promise<readonly LaneOverview[]> {
  if (ids.length === 0) return []
  const rows = await selectLanes(reading.tables, accountId, context.now).where('c.id', 'in', ids).execute()
  const lanes = await toOverviews(reading, rows, { ...context, ...IN_LIST })
  const byId = new Map(lanes.map((lane) => [lane.id, lane]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

export async function readLane(store: Store, { accountId, id }: OfConnection): Promise<LaneOverview> {
  const context = await laneContextOf(store)
  return snapshot(store, async (tables) => {
    const rows = await selectLanes(tables, accountId, context.now).where('c.id', '=', id).execute()
    const reading = { tables, engine: store.engine }
    const [lane] = await toOverviews(reading, rows, { ...context, ...ALONE })
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
  { counted, rowsBack, ...context }: Effort & LaneContext,
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
  const paces = await measurePaces(reading, wanted, { now: context.now, rowsBack })
  return rows.map((row) => {
    const status = statuses.get(row.id) ?? { waiting: 0, head: null }
    const still = whyStandsStill(row, status.waiting, context)
    return {
      ...toConnectionFacts(row),
      state: row.connection_state === 'paused' ? 'paused' : 'active',
      networkCheck: JSON.parse(row.network_check ?? 'null') as NetworkCheck | null,
      createdAt: row.created_at,
      waiting: bounded(status.waiting, counted),
      oldestWaitingAt: oldest.get(status.head ?? -1) ?? null,
      pace: paces.get(row.id) ?? NO_PACE,
      standsStill: still && { ...still, canBeEnded: row.connection_state === 'active' && mayBeEnded(still.reason) },
      group: groupOf(row, status.waiting, context),
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
