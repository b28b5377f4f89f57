import type { Instant } from '../../core/ids.ts'

const UNITS = [
  ['year', 365 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

export function isoTime(at: Instant): string
export function isoTime(at: Instant | null): string | null
export function isoTime(at: Instant | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

/** `3 minutes ago`, `in 30 days`, `now`. */
export function relativeTime(at: Instant, now: Instant): string {
  const distance = Math.abs(at - now)
  const unit = UNITS.find(([, ms]) => distance >= ms)
  if (!unit) return 'now'
  const [name, ms] = unit
  const count = Math.round(distance / ms)
  const words = `${count} ${name}${count === 1 ? '' : 's'}`
  return at < now ? `${words} ago` : `in ${words}`
}

/** A moment as people write it, to the millisecond: `2026-01-15 12:00:00.250 UTC`. */
export function plainTime(at: Instant): string {
  return `${new Date(at).toISOString().replace('T', ' ').replace('Z', '')} UTC`
}
