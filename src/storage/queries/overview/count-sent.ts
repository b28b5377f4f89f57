import type { ConnectionId } from '../../../core/ids.ts'
import type { Overview, SentCount, Tallies, WantedSent } from '../../../core/ports/console/overview.ts'
import type { Store } from '../store.ts'
import { talliedAs } from './hour-tally.ts'
import { hourOf } from './hours.ts'
import { readCounted } from './read-bars.ts'
import { readRecent } from './recent.ts'

interface Tallied {
  readonly connectionId: string
  readonly state: keyof Tallies
  readonly count: number
}

export async function countSent(store: Store, wanted: WantedSent): ReturnType<Overview['countSent']> {
  const { accountId, connectionIds } = wanted
  const now = store.now()
  const from = hourOf(wanted.since)
  const recent = await readRecent(store, accountId, now)
  const { isComplete } = await readCounted(store, { accountId, from, now, recent })
  const counted: Tallied[] = await store.database
    .selectFrom('tally')
    .select(['connection_id as connectionId', 'state', 'count'])
    .where('account_id', '=', accountId)
    .where('connection_id', 'in', connectionIds)
    .where('hour', '>=', from)
    .where('hour', '<', recent?.from ?? Number.MAX_SAFE_INTEGER)
    .execute()
  const newest = (recent?.messages ?? [])
    .filter(({ at, connectionId }) => at >= from && connectionIds.includes(connectionId))
    .map(({ connectionId, state }): Tallied => ({ connectionId, state: talliedAs(state), count: 1 }))
  const items = new Map<string, { sent: number; notSent: number }>()
  for (const { connectionId, state, count } of [...counted, ...newest]) {
    const item = items.get(connectionId) ?? { sent: 0, notSent: 0 }
    if (state === 'published') item.sent += count
    if (state === 'failed' || state === 'expired') item.notSent += count
    items.set(connectionId, item)
  }
  return {
    items: [...items].map(([id, item]): SentCount => ({ connectionId: id as ConnectionId, ...item })),
    isComplete,
  }
}
