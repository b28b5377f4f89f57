import type { Instant } from '../ids.ts'
import { Refusal } from '../refusals.ts'

const DAY_MS = 86_400_000
const MOST_YEARS = 2

/** How long tokens live, in days: what people choose from beside a date. There is no default: they must choose. */
const EXPIRATION_DAYS = { '7d': 7, '30d': 30, '60d': 60, '90d': 90, '1y': 365 } as const
type ExpirationChoice = keyof typeof EXPIRATION_DAYS | 'date'

/** When a token ends. Refuses a moment that has passed or lies more than 2 years ahead. */
export function expirationAt(choice: ExpirationChoice, moment: Instant | null, now: Instant): Instant {
  if (choice !== 'date') return now + EXPIRATION_DAYS[choice] * DAY_MS
  if (moment === null) throw new Refusal('expiry_invalid', 'Choose the date on which the token expires.', 'expiresAt')
  if (moment <= now)
    throw new Refusal('expiry_invalid', 'This date has passed. Choose one that is still to come.', 'expiresAt')
  // A day more: the date is meant to its end, wherever the person is.
  if (moment > yearsLater(now, MOST_YEARS) + DAY_MS) {
    throw new Refusal(
      'expiry_invalid',
      `This date is more than ${MOST_YEARS} years ahead. Choose an earlier one.`,
      'expiresAt',
    )
  }
  return moment
}

function yearsLater(now: Instant, years: number): Instant {
  const date = new Date(now)
  return date.setUTCFullYear(date.getUTCFullYear() + years)
}
