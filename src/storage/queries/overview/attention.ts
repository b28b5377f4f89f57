import { sql } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import type { AttentionGroup, AttentionSeen, AttentionView } from '../../../core/ports/console/overview.ts'
import { change, type Reader, type Store } from '../store.ts'
import { DAY_MS, hourOf } from './hours.ts'
import { type Recent, readRecent } from './recent.ts'
import { readLanesForPerson } from './waiting-lanes.ts'

const MOST_GROUPS = 20
const COUNTED_MS = 7 * DAY_MS
const MOST_SEEN = 200

export async function readAttention(store: Store, accountId: AccountId): Promise<AttentionView> {
  const now = store.now()
  const from = hourOf(now - COUNTED_MS)
  const recent = await readRecent(store, accountId, now)
  return {
    from,
    groups: await readGroups(store, { accountId, from, recent }),
    lanes: await readLanesForPerson(store, accountId, now),
    seen: new Map(Object.entries(await readSeen(store.database, accountId))),
  }
}

export async function noteAttentionSeen(
  store: Store,
  { accountId, key, until }: { readonly accountId: AccountId; readonly key: string; readonly until: Instant },
  actor: Actor,
): Promise<void> {
  await change(store, actor, async ({ tables, at, actor: by }) => {
    const { [key]: _, ...others } = await readSeen(tables, accountId)
    const newest = Object.entries(others).toSorted(([, one], [, other]) => other.at - one.at)
    const seen = { [key]: { until, by, at }, ...Object.fromEntries(newest.slice(0, MOST_SEEN - 1)) }
    await tables
      .updateTable('account')
      .set({ attention_seen: JSON.stringify(seen) })
      .where('id', '=', accountId)
      .execute()
  })
}

async function readSeen(tables: Reader, accountId: AccountId): Promise<Record<string, AttentionSeen>> {
  const account = await tables
    .selectFrom('account')
    .select('attention_seen')
    .where('id', '=', accountId)
    .executeTakeFirst()
  return JSON.parse(account?.attention_seen ?? '{}') as Record<string, AttentionSeen>
}

interface Wanted {
  readonly accountId: AccountId
  readonly from: Instant
  readonly recent: Recent | null
}

async function readGroups(
  { database }: Store,
  { accountId, from, recent }: Wanted,
): Promise<readonly AttentionGroup[]> {
  const count = sql<number>`sum(count)`
  const rows = await database
    .selectFrom('tally_reason')
    .select(({ fn }) => ['state', 'reason', count.as('count'), fn.max('latest_at').as('latest_at')])
    .where('account_id', '=', accountId)
    .where('hour', '>=', from)
    .where('hour', '<', recent?.from ?? Number.MAX_SAFE_INTEGER)
    .groupBy(['state', 'reason'])
    .execute()
  const groups = new Map<string, AttentionGroup>()
  const add = (state: string, reason: string, { count, latestAt }: Pick<AttentionGroup, 'count' | 'latestAt'>) => {
    // The alarm of unconfirmed messages counts them all, however old they are.
    if (state !== 'FAILED' && state !== 'EXPIRED') return
    const key = `${state} ${reason}`
    const known = groups.get(key)
    groups.set(key, {
      state,
      reason: reason === '' ? null : reason,
      count: (known?.count ?? 0) + count,
      latestAt: Math.max(known?.latestAt ?? 0, latestAt),
    })
  }
  for (const row of rows) add(row.state, row.reason, { count: Number(row.count), latestAt: row.latest_at })
  for (const { state, openReason, at } of recent?.messages ?? [])
    if (openReason !== null) add(state, openReason, { count: 1, latestAt: at })
  return [...groups.values()].toSorted((one, other) => other.count - one.count).slice(0, MOST_GROUPS)
}
