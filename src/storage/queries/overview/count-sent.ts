import { sql } from 'kysely'
import type { ConnectionId } from '../../../core/ids.ts'
import type { Overview, SentCount, Tallies, WantedSent } from '../../../core/ports/console/overview.ts'
import type { Store } from '../store.ts'
import { talliedAs } from './hour-tally.ts'
import { DAY_MS, hourOf } from './hours.ts'
import { readCounted } from './read-bars.ts'
import { readRecent } from './recent.ts'

// No reader's midnight is further back, and the number of rows to read grows with the hours.
const FURTHEST_BACK_MS = 2 * DAY_MS

interface Tallied {
  readonly connectionId: string
  readonly state: keyof Tallies
  readonly count: number
}

export async function countSent(store: Store, wanted: WantedSent): ReturnType<Overview['countSent']> {
  const { accountId } = wanted
  // In the tally, an empty id stands for the whole account: only ids of connections are looked up there.
  const own = await store.database
    .selectFrom('connection')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', 'in', wanted.connectionIds)
    .execute()
  const connectionIds = wanted.connectionIds.filter((wantedId) => own.some(({ id }) => id === wantedId))
  if (connectionIds.length === 0) return { items: [], isComplete: true }
  const now = store.now()
  const from = hourOf(Math.max(wanted.since, now - FURTHEST_BACK_MS))
  const recent = await readRecent(store, accountId, now)
  const { isComplete } = await readCounted(store, { accountId, from, now, recent })
  const counted: Tallied[] = await store.database
    .selectFrom('tally')
    .select(['connection_id as connectionId', 'state', sql<number>`sum(count)`.as('count')])
    .where('account_id', '=', accountId)
    .where('connection_id', 'in', connectionIds)
    .where('hour', '>=', from)
    .where('hour', '<', recent?.from ?? Number.MAX_SAFE_INTEGER)
    .groupBy(['connection_id', 'state'])
    .execute()
  const newest = (recent?.messages ?? [])
    .filter(({ at }) => at >= from)
    .map(({ connectionId, state }): Tallied => ({ connectionId, state: talliedAs(state), count: 1 }))
  const items = new Map<string, { sent: number; notSent: number }>(
    connectionIds.map((id) => [id, { sent: 0, notSent: 0 }]),
  )
  for (const { connectionId, state, count } of [...counted, ...newest]) {
    const item = items.get(connectionId)
    if (!item) continue
    if (state === 'published') item.sent += Number(count)
    if (state === 'failed' || state === 'expired') item.notSent += Number(count)
  }
  return {
    items: [...items].map(([id, item]): SentCount => ({ connectionId: id as ConnectionId, ...item })),
    isComplete,
  }
}
