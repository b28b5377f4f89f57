import type { Instant } from '../ids.ts'
import type { ExpiredUse, WatchedToken } from '../ports/watch.ts'
import type { Finding } from './alarm.ts'
import type { AlarmSeverity } from './alarm-kinds.ts'

const DAY_MS = 86_400_000
/** Days before its end at which a token is announced, the last first. */
const TOKEN_STAGES_DAYS = [1, 7, 14] as const
export const TOKEN_WARNED_MS = 14 * DAY_MS
/** For so long after their end tokens are watched that are still called with. */
export const EXPIRED_WATCHED_MS = 30 * DAY_MS
// A caller that comes once a day is one, too.
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

/** Which of the stages a token has come to: the days of it; null while it is far from its end, or past it. */
function tokenStage({ expiresAt }: Pick<WatchedToken, 'expiresAt'>, now: Instant): number | null {
  if (expiresAt <= now) return null
  return TOKEN_STAGES_DAYS.find((days) => expiresAt - now <= days * DAY_MS) ?? null
}

function checkEnding(token: WatchedToken, now: Instant): Finding | null {
  const stage = tokenStage(token, now)
  if (stage === null) return null
  const isUsed = token.lastUsedAt !== null && now - token.lastUsedAt < IN_USE_MS
  const severity: AlarmSeverity = !isUsed || stage === 14 ? 'info' : stage === 7 ? 'warning' : 'critical'
  const since = token.expiresAt - TOKEN_WARNED_MS
  return {
    ...about(token),
    kind: 'token_expiring',
    severity,
    since,
    facts: { ...factsOf(token), isUsed, stage },
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
