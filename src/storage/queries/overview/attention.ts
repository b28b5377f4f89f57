import { sql } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { AttentionGroup, EndingToken } from '../../../core/ports/console/overview.ts'
import type { Store } from '../store.ts'
import { DAY_MS, hourOf } from './hours.ts'
import type { Recent } from './recent.ts'

const MOST_GROUPS = 20
const MOST_TOKENS = 20
const ENDING_WITHIN_MS = 14 * DAY_MS
const ENDED_WITHIN_MS = 7 * DAY_MS

interface Wanted {
  readonly accountId: AccountId
  readonly from: Instant
  readonly recent: Recent | null
}

/** The failures that no person has dealt with, most frequent first. */
export async function readAttention(
  { database }: Store,
  { accountId, from, recent }: Wanted,
): Promise<readonly AttentionGroup[]> {
  const count = sql<number>`sum(count)`
  const rows = await database
    .selectFrom('tally_reason')
    .select(({ fn }) => ['state', 'reason', count.as('count'), fn.max('latest_at').as('latest_at')])
    .where('account_id', '=', accountId)
    .where('hour', '>=', hourOf(from))
    .where('hour', '<', recent?.from ?? Number.MAX_SAFE_INTEGER)
    .groupBy(['state', 'reason'])
    .execute()
  const groups = new Map<string, AttentionGroup>()
  const add = ({ state, reason, count, latestAt }: AttentionGroup) => {
    const key = `${state} ${reason ?? ''}`
    const known = groups.get(key)
    const latest = Math.max(known?.latestAt ?? 0, latestAt)
    groups.set(key, { state, reason, count: (known?.count ?? 0) + count, latestAt: latest })
  }
  for (const row of rows) add(groupOf({ ...row, latestAt: row.latest_at, count: Number(row.count) }))
  for (const { state, openReason, at } of recent?.messages ?? [])
    if (openReason !== null) add(groupOf({ state, reason: openReason, count: 1, latestAt: at }))
  return [...groups.values()].toSorted((one, other) => other.count - one.count).slice(0, MOST_GROUPS)
}

function groupOf({ state, reason, count, latestAt }: Omit<AttentionGroup, 'state'> & { readonly state: string }) {
  return { state: state as AttentionGroup['state'], reason: reason === '' ? null : reason, count, latestAt }
}

/** Tokens that end soon or have just ended, by their end. */
export async function readEndingTokens(
  { database }: Store,
  accountId: AccountId,
  now: Instant,
): Promise<readonly EndingToken[]> {
  const rows = await database
    .selectFrom('token')
    .select(['id', 'name', 'prefix', 'expires_at'])
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('expires_at', '<=', now + ENDING_WITHIN_MS)
    .where('expires_at', '>', now - ENDED_WITHIN_MS)
    .orderBy('expires_at')
    .limit(MOST_TOKENS)
    .execute()
  return rows.map(({ id, name, prefix, expires_at }) => ({ id, name, prefix, expiresAt: expires_at }))
}
