import { sql } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { AttentionGroup, EndingToken } from '../../../core/ports/console/overview.ts'
import type { Store } from '../store.ts'
import { DAY_MS, hourOf } from './hours.ts'

const MOST_GROUPS = 20
const MOST_TOKENS = 20
const ENDING_WITHIN_MS = 14 * DAY_MS
const ENDED_WITHIN_MS = 7 * DAY_MS

/** What came to a bad end that nobody has dealt with, as it was counted by the hour; most first. */
export async function readAttention(
  { database }: Store,
  { accountId, from }: { readonly accountId: AccountId; readonly from: Instant },
): Promise<readonly AttentionGroup[]> {
  const count = sql<number>`sum(count)`
  const rows = await database
    .selectFrom('tally_reason')
    .select(({ fn }) => ['state', 'reason', count.as('count'), fn.max('latest_at').as('latest_at')])
    .where('account_id', '=', accountId)
    .where('hour', '>=', hourOf(from))
    .groupBy(['state', 'reason'])
    .orderBy('count', 'desc')
    .limit(MOST_GROUPS)
    .execute()
  return rows.map((row) => ({
    state: row.state as AttentionGroup['state'],
    reason: row.reason === '' ? null : row.reason,
    count: Number(row.count),
    latestAt: row.latest_at,
  }))
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
