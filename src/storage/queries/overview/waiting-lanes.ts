import { sql } from 'kysely'
import { parseLanePolicy } from '../../../core/connection/lane-policy.ts'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { OverviewView, WaitingLane } from '../../../core/ports/console/overview.ts'
import type { ReasonCode } from '../../../core/reasons.ts'
import { NEEDS_PERSON } from '../../../format/waits.ts'
import { laneContextOf, laneFacts, whyStandsStill } from '../lanes/lane-reason.ts'
import type { Store } from '../store.ts'
import { ALL_CONNECTIONS } from './hour-tally.ts'

const SHOWN = 8
const MOST_FOR_PERSON = 20
// The greatest count that is shown exactly.
const MOST_COUNTED = 1_000
const MOST_COUNTED_TOGETHER = 5_000

type Waiting = Pick<OverviewView, 'waiting' | 'lanes' | 'furtherLanes'> & {
  /** The highest sequence among the heads of the lanes; null when nothing waits. */
  readonly head: Sequence | null
}

/**
 * The lanes with waiting messages, and how much waits in all. It reads each connection of the account once and a bounded
 * number of messages: the head of each lane, and more only of the lanes that are shown.
 */
export async function readWaiting(store: Store, accountId: AccountId, now: Instant): Promise<Waiting> {
  const { lanes, head } = await findLanes(store, accountId, now)
  const shown = await countLanes(store, lanes.slice(0, SHOWN))
  return {
    waiting: {
      ...(await countTogether(store, accountId)),
      oldestAt: lanes.length === 0 ? null : Math.min(...lanes.map(({ oldestAt }) => oldestAt ?? now)),
    },
    head,
    lanes: shown,
    furtherLanes: lanes.length - shown.length,
  }
}

// Alarms and banners of the installation report these. A pause needs a person once its messages would expire.
const SAID_ELSEWHERE: ReadonlySet<string> = new Set<ReasonCode>([
  'paused',
  'database_went_back',
  'service_stopped',
  'storage_unavailable',
])

/** The lanes that wait for a person. */
export async function readLanesForPerson(
  store: Store,
  accountId: AccountId,
  now: Instant,
): Promise<readonly WaitingLane[]> {
  const { lanes } = await findLanes(store, accountId, now)
  const isForPerson = ({ reason }: WaitingLane) =>
    reason !== null && NEEDS_PERSON.has(reason) && !SAID_ELSEWHERE.has(reason)
  return countLanes(store, lanes.filter(isForPerson).slice(0, MOST_FOR_PERSON))
}

/** All with waiting messages, the worst first. */
async function findLanes(
  store: Store,
  accountId: AccountId,
  now: Instant,
): Promise<{ readonly lanes: readonly WaitingLane[]; readonly head: Sequence | null }> {
  const aside = await store.engine.overview.findNotEntered(store.database, accountId)
  const context = { ...(await laneContextOf(store)), now }
  const newest = new Map(aside.map((lane) => [lane.connectionId, lane]))
  const lanes: WaitingLane[] = []
  let head: Sequence | null = null
  for (const row of await selectLanes(store, accountId, now).execute()) {
    const behind = newest.get(row.id)
    const oldestAt = row.oldest_entered_at ?? behind?.oldestAt ?? null
    if (oldestAt === null) continue
    head = Math.max(head ?? 0, row.entered_head ?? behind?.head ?? 0)
    const still = whyStandsStill(row, behind?.count ?? 1, context)
    lanes.push({
      connectionId: row.id,
      number: row.number,
      name: row.name,
      channel: row.channel,
      policy: parseLanePolicy(row.policy),
      state: row.connection_state === 'paused' ? 'paused' : 'active',
      waiting: behind?.count ?? 0,
      isMore: false,
      oldestAt,
      reason: still?.reason ?? null,
      words: still?.words ?? null,
      until: still?.until ?? null,
    })
  }
  return { lanes: lanes.toSorted(worstFirst), head }
}

async function countTogether(store: Store, accountId: AccountId): Promise<{ count: number; isMore: boolean }> {
  const count = await store.engine.overview.countWaiting(store.database, accountId, MOST_COUNTED_TOGETHER + 1)
  if (count <= MOST_COUNTED_TOGETHER) return { count, isMore: false }
  // For so many, an older count is good enough.
  const counted = await store.database
    .selectFrom('tally')
    .select(sql<number | null>`sum(count)`.as('count'))
    .where('account_id', '=', accountId)
    .where('connection_id', '=', sql.lit(ALL_CONNECTIONS))
    .where('state', '=', sql.lit('waiting'))
    .executeTakeFirst()
  return { count: Math.max(MOST_COUNTED_TOGETHER, Number(counted?.count ?? 0)), isMore: true }
}

/** Blocked lanes first, and within each group the lane with the oldest head first. */
function worstFirst(one: WaitingLane, other: WaitingLane): number {
  const still = Number(other.reason !== null) - Number(one.reason !== null)
  return still || (one.oldestAt ?? 0) - (other.oldestAt ?? 0) || (one.number < other.number ? -1 : 1)
}

function selectLanes({ database, engine }: Store, accountId: AccountId, now: Instant) {
  return database
    .selectFrom('connection as c')
    .leftJoin('open_attempt as o', 'o.connection_id', 'c.id')
    .leftJoin('lane as l', 'l.connection_id', 'c.id')
    .leftJoin('worker as w', 'w.id', 'l.owner')
    .where('c.account_id', '=', accountId)
    .where('c.state', '<>', 'removed')
    .select([
      'c.id',
      'c.number',
      'c.name',
      'c.channel',
      'c.policy',
      ...laneFacts(now),
      sql<Instant | null>`(select q.accepted_at from ${engine.overview.enteredOfC} order by e.sequence limit 1)`.as(
        'oldest_entered_at',
      ),
      sql<Sequence | null>`(select e.sequence from ${engine.overview.enteredOfC} order by e.sequence limit 1)`.as(
        'entered_head',
      ),
    ])
}

async function countLanes({ database, engine }: Store, lanes: readonly WaitingLane[]): Promise<readonly WaitingLane[]> {
  if (lanes.length === 0) return []
  const ids = lanes.map(({ connectionId }) => connectionId)
  const rows = await database
    .selectFrom('connection as c')
    .where('c.id', 'in', ids)
    .select([
      'c.id',
      sql<number>`(select count(*) from (
        select 1 from ${engine.overview.enteredOfC} limit ${MOST_COUNTED + 1}) found)`.as('entered'),
    ])
    .execute()
  const entered = new Map(rows.map((row) => [row.id, row.entered]))
  return lanes.map((lane) => {
    const waiting = (entered.get(lane.connectionId) ?? 0) + lane.waiting
    return { ...lane, waiting: Math.min(waiting, MOST_COUNTED), isMore: waiting > MOST_COUNTED }
  })
}
