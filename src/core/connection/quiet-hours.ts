import type { Instant } from '../ids.ts'

/** Hours of each day in which no attempt begins, by the clock of a place. They may go over midnight. */
export interface QuietHours {
  /** The first minute that is quiet, such as `22:00`. */
  readonly from: string
  /** The first minute that is not. */
  readonly to: string
  /** As in the IANA database, such as Europe/Berlin. */
  readonly timeZone: string
}

const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60

/**
 * When the quiet hours end that `now` lies in; null when it lies in none. A time zone that this machine does not know
 * has no quiet hours: a lane must not stand still for ever because of it.
 */
export function endOfQuietHours(quiet: QuietHours, now: Instant): Instant | null {
  const time = minuteOfDay(now, quiet.timeZone)
  if (time === null) return null
  const [from, to] = [parseTimeOfDay(quiet.from), parseTimeOfDay(quiet.to)]
  if (minutesBetween(time, to) > minutesBetween(from, to) || from === to) return null
  return whenShown(to, { now, time, timeZone: quiet.timeZone })
}

/** When the next quiet hours begin after `now`; null when there are none. */
export function startOfQuietHours(quiet: QuietHours, now: Instant): Instant | null {
  const { from, to, timeZone } = quiet
  const time = minuteOfDay(now, timeZone)
  return time === null || from === to ? null : whenShown(parseTimeOfDay(from), { now, time, timeZone })
}

interface Clock {
  readonly now: Instant
  /** What the clock of the place shows now. */
  readonly time: number
  readonly timeZone: string
}

/** When a clock next shows a time of day. */
function whenShown(wanted: number, { now, time, timeZone }: Clock): Instant {
  const startOfMinute = now - (now % MINUTE_MS)
  const at = startOfMinute + minutesBetween(time, wanted) * MINUTE_MS
  // If the clocks are set forward or back before then, the result is off by as much.
  const shown = minuteOfDay(at, timeZone) ?? wanted
  const off = shown === wanted ? 0 : shorterWay(wanted - shown)
  const atAfterChange = at + off * MINUTE_MS
  // If the clocks jump over the wanted time, it does not exist that day. The caller then asks again a minute later.
  return atAfterChange > now ? atAfterChange : startOfMinute + MINUTE_MS
}

/** Minutes from one time of day to the next time that it is the other; a whole day when they are the same. */
function minutesBetween(from: number, to: number): number {
  return ((to - from + DAY_MINUTES - 1) % DAY_MINUTES) + 1
}

/** The same difference between times of day, but the shorter way around the clock: at most twelve hours. */
function shorterWay(minutes: number): number {
  const round = ((minutes % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES
  return round > DAY_MINUTES / 2 ? round - DAY_MINUTES : round
}

function parseTimeOfDay(text: string): number {
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5))
}

function minuteOfDay(at: Instant, timeZone: string): number | null {
  try {
    const text = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
    return parseTimeOfDay(text.format(at))
  } catch {
    return null
  }
}
