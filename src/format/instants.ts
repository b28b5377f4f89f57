import { counted } from './counted.ts'

const UNITS = [
  ['year', 365 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

export function isoTime(at: number): string
export function isoTime(at: number | null): string | null
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

/** `3 minutes ago`, `in 30 days`, `now`. */
export function relativeTime(at: number, now: number): string {
  const distance = Math.abs(at - now)
  const unit = UNITS.find(([, ms]) => distance >= ms)
  if (!unit) return 'now'
  const [name, ms] = unit
  const count = Math.round(distance / ms)
  const words = counted(count, name)
  return at < now ? `${words} ago` : `in ${words}`
}

/** A moment as people write it, to the millisecond: `2026-01-15 12:00:00.250 UTC`. */
export function plainTime(at: number): string {
  return `${new Date(at).toISOString().replace('T', ' ').replace('Z', '')} UTC`
}

/** The same to the minute: `2026-01-15 12:00 UTC`. */
export function minuteText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Such as `26 Nov 2026, 04:19:57 UTC`. Its digits are not taken for those of a phone number. */
export function instantText(at: number): string {
  const text = new Date(at).toUTCString()
  return `${text.slice(5, 16)}, ${text.slice(17, 25)} UTC`
}

// What is further away could be taken for the same time of another day.
const HALF_A_DAY_MS = 43_200_000

/** The same, but within half a day only the time: `14:32 UTC`. */
export function shortTime(at: number, now: number): string {
  return Math.abs(now - at) < HALF_A_DAY_MS ? `${new Date(at).toISOString().slice(11, 16)} UTC` : instantText(at)
}

/** The same to the second, after a verb: `at 14:32:05 UTC`. For what comes within minutes. */
export function secondText(at: number, now: number): string {
  const text = instantText(at)
  return Math.abs(now - at) < HALF_A_DAY_MS ? `at ${text.slice(-12)}` : `on ${text}`
}

/** The same after a verb: `at 14:32 UTC`, `on 26 Nov 2026, 14:32:05 UTC`. */
export function atText(at: number, now: number): string {
  const text = shortTime(at, now)
  return text === instantText(at) ? `on ${text}` : `at ${text}`
}
