import type { Instant } from '../ids.ts'
import type { ExpiredUse, WatchedToken } from '../ports/watch.ts'
import type { Finding } from './alarm.ts'

const DAY_MS = 86_400_000
/** The longest time before its end at which there is a warning about a token. */
export const TOKEN_WARNED_MS = 7 * DAY_MS
// A token that was made for a week is no reason for a warning on its first day.
const WARNED_SHARE = 5
/** How long after its end a token is watched for callers that still use it. */
export const EXPIRED_WATCHED_MS = 30 * DAY_MS
// Long enough to see a caller that comes once a day.
const CALLED_LATELY_MS = DAY_MS
const IN_USE_MS = 30 * DAY_MS

/** Pure. */
export function checkTokens(
  tokens: readonly WatchedToken[],
  uses: readonly ExpiredUse[],
  now: Instant,
): readonly Finding[] {
  const usedAt = new Map(uses.map(({ tokenId, lastAt }) => [tokenId, lastAt]))
  return tokens.flatMap((token) => {
    const found = token.expiresAt > now ? checkEnding(token, now) : checkExpired(token, usedAt.get(token.id), now)
    return found ? [found] : []
  })
}

/** Null: its end is far, or nothing breaks at its end because it is not in use. */
function checkEnding(token: WatchedToken, now: Instant): Finding | null {
  const { createdAt, expiresAt, lastUsedAt } = token
  const warnedMs = Math.min(TOKEN_WARNED_MS, (expiresAt - createdAt) / WARNED_SHARE)
  const isUsed = lastUsedAt !== null && now - lastUsedAt < IN_USE_MS
  if (!isUsed || expiresAt - now > warnedMs) return null
  return {
    ...about(token),
    kind: 'token_expiring',
    severity: expiresAt - now > DAY_MS ? 'warning' : 'critical',
    since: expiresAt - warnedMs,
    facts: factsOf(token),
    raises: true,
  }
}

function checkExpired(token: WatchedToken, lastAt: Instant | undefined, now: Instant): Finding | null {
  if (lastAt === undefined || now - lastAt >= CALLED_LATELY_MS) return null
  const facts = { ...factsOf(token), lastCallAt: lastAt }
  return {
    ...about(token),
    kind: 'token_expired_in_use',
    severity: 'critical',
    since: token.expiresAt,
    facts,
    raises: true,
  }
}

function about({ id, accountId }: WatchedToken) {
  return { object: id, accountId }
}

function factsOf({ name, prefix, expiresAt, lastUsedAt, hasSuccessor }: WatchedToken) {
  return { name, prefix, expiresAt, lastUsedAt, hasSuccessor }
}
