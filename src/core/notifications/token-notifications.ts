import type { AccountId, Instant, TokenId } from '../ids.ts'
import type { NewNotification } from '../ports/notifications.ts'

const DAY_MS = 86_400_000
/** Days before its end at which an account is notified, the largest first. */
export const NOTIFIED_DAYS_AHEAD: readonly number[] = [14, 7, 1]
/** No notification for a token that ended longer ago, while no process ran. */
export const NOTIFIED_AFTER_MS = 2 * DAY_MS

export interface EndingToken {
  readonly id: TokenId
  readonly accountId: AccountId
  readonly name: string
  readonly prefix: string
  readonly createdAt: Instant
  readonly expiresAt: Instant
}

/** The notification that is due now for a token that is not deleted; null when none is. Its key prevents a second one. */
export function tokenNotification(token: EndingToken, now: Instant): NewNotification | null {
  const { id, accountId, name, prefix, createdAt, expiresAt } = token
  const data = { tokenId: id, name, prefix, expiresAt: new Date(expiresAt).toISOString() }
  if (expiresAt <= now) {
    if (expiresAt <= now - NOTIFIED_AFTER_MS) return null
    return { accountId, kind: 'token.expired', at: expiresAt, key: `token.expired:${id}`, data }
  }
  const daysLeft = NOTIFIED_DAYS_AHEAD.findLast((days) => expiresAt - days * DAY_MS <= now)
  // A token that was made for a week causes no notification on its first day.
  if (daysLeft === undefined || createdAt > expiresAt - daysLeft * DAY_MS - 1) return null
  const key = `token.expiring:${id}:${daysLeft}`
  return { accountId, kind: 'token.expiring', at: now, key, data: { ...data, daysLeft } }
}
