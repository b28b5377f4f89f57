import type { Instant } from '../../../core/ids.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

// While a person watches, the newest bar is updated often; otherwise rarely.
const WATCHED_AFTER_MS = 10_000
const COUNT_AGAIN_AFTER_MS = 10 * MINUTE_MS
// After this time, changes by receipts are counted within a day; changes by people at once.
const FRESH_FOR_MS = 48 * HOUR_MS
const FINAL_AFTER_MS = 8 * DAY_MS

export function hourOf(at: Instant): Instant {
  return at - (at % HOUR_MS)
}

/** The hours that are not final. */
export interface Counted {
  /** When each was counted, by its beginning. An hour that is not here was never counted. */
  readonly at: ReadonlyMap<Instant, Instant>
  /** Hours of any age in which something was still waiting. */
  readonly waiting: ReadonlySet<Instant>
  /** The newest hour that was never counted, of those that are final by age; null when there is none. */
  readonly missing: Instant | null
  /** Nothing was accepted before. */
  readonly oldest: Instant
}

export interface CountingState {
  readonly now: Instant
  /** A person is watching now. */
  readonly isWatched: boolean
  /** What was counted last. */
  readonly last: Instant | null
}

/** Which hour to count next; null: all are as fresh as they need to be. Pure. */
export function nextHour(counted: Counted, state: CountingState): Instant | null {
  const { now, last } = state
  const current = hourOf(now)
  const isDue = (hour: Instant) => isHourDue(hour, counted, state)
  // A very full hour is due again as soon as it was counted, so the other hours take turns with it.
  if (last !== current && isDue(current)) return current
  for (let hour = current - HOUR_MS; hour >= firstOpen(counted, now); hour -= HOUR_MS) if (isDue(hour)) return hour
  const late = [...counted.waiting].find((hour) => hour < firstOpen(counted, now) && isDue(hour))
  return late ?? counted.missing ?? (isDue(current) ? current : null)
}

/** The oldest hour that is not final for its age alone. */
export function firstOpen({ oldest }: Pick<Counted, 'oldest'>, now: Instant): Instant {
  return Math.max(hourOf(oldest), firstWhole(now))
}

/** The oldest hour without deleted messages: they are kept a day longer than this. */
export function firstWhole(now: Instant): Instant {
  return hourOf(now - FINAL_AFTER_MS - DAY_MS)
}

function isHourDue(hour: Instant, { at, waiting }: Counted, { now, isWatched }: CountingState): boolean {
  const countedAt = at.get(hour)
  if (countedAt === undefined) return true
  const since = now - countedAt
  const age = now - hour
  // The messages of its last seconds came after the last count, and most of them end in the next hour.
  if (age < HOUR_MS + COUNT_AGAIN_AFTER_MS)
    return since < 0 || since >= (isWatched ? WATCHED_AFTER_MS : COUNT_AGAIN_AFTER_MS)
  if (age < FRESH_FOR_MS) return since >= COUNT_AGAIN_AFTER_MS
  if (age < FINAL_AFTER_MS || waiting.has(hour)) return since >= DAY_MS
  // Final once it was counted at that age.
  return countedAt < hour + FINAL_AFTER_MS
}
