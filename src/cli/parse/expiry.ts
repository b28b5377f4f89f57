import type { Instant } from '../../core/ids.ts'
import { Refusal } from '../../core/refusals.ts'

const DAY_MS = 86_400_000
const CHOICES: Readonly<Record<string, number>> = { '7d': 7, '30d': 30, '60d': 60, '90d': 90, '1y': 365 }

/** `7d`, `30d`, `60d`, `90d`, `1y`, a date (it ends with that day, by UTC), or a moment with its time zone. */
export function parseExpiry(text: string, now: Instant): Instant {
  const days = Object.hasOwn(CHOICES, text) ? CHOICES[text] : undefined
  if (days !== undefined) return now + days * DAY_MS
  const at = parseMoment(text)
  if (at === null) throw refusal(`“${text}” is no expiration.`)
  if (at <= now) throw refusal(`${text} has passed.`)
  if (at > yearsLater(now, 2) + DAY_MS) throw refusal(`${text} is more than 2 years ahead.`)
  return at
}

function refusal(what: string): Refusal {
  return new Refusal(
    'expiry_invalid',
    `${what} A token expires after 7d, 30d, 60d, 90d or 1y, or on a date up to 2 years ahead such as 2027-03-31.`,
    '--expires',
  )
}

function parseMoment(text: string): Instant | null {
  const [, date, time] =
    /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? []
  if (date === undefined) return null
  const day = Date.parse(`${date}T00:00:00Z`)
  // The parser reads February 30 as March 2, so the result is compared with the input.
  if (Number.isNaN(day) || !new Date(day).toISOString().startsWith(date)) return null
  const at = time === undefined ? day + DAY_MS : Date.parse(text)
  return Number.isNaN(at) ? null : at
}

function yearsLater(now: Instant, years: number): Instant {
  const date = new Date(now)
  return date.setUTCFullYear(date.getUTCFullYear() + years)
}
