import { endOfQuietHours } from '../connection/quiet-hours.ts'
import type { Instant } from '../ids.ts'
import type { LaneMeasure, WatchedLane } from '../ports/watch.ts'

const DAY_MINUTES = 24 * 60
const HOUR_MS = 3_600_000
// The warning about a paused connection comes while there is still time to resume it.
const PAUSED_WARNED_MS = HOUR_MS

export interface Expiry {
  /** How many of those that wait now will not make it. */
  readonly count: number
  /** When the first of them expires. */
  readonly firstAt: Instant
}

type Lane = Pick<WatchedLane, 'policy' | 'state' | 'head'>

/** Whether the count of waiting messages can matter to `predictExpiry`. If not, it is not counted. Pure. */
export function needsCount({ head, policy, state }: Lane, now: Instant): boolean {
  if (state === 'paused') return head !== null && head.acceptedAt + policy.timeToLiveMs <= now + PAUSED_WARNED_MS
  return policy.leastGapMs + policy.gapJitterMs > 0 || policy.quietHours !== null
}

/**
 * How many of the messages that wait will expire before their turn, by pace, quiet hours and pause. Pure. Those between
 * the first and the last are assumed to have come evenly, because they are not read one by one. Null: none.
 */
export function predictExpiry(lane: Lane, { waiting, newestAt }: LaneMeasure, now: Instant): Expiry | null {
  const { head, policy, state } = lane
  if (!head || waiting === 0) return null
  const last = Math.max(head.acceptedAt, newestAt ?? head.acceptedAt)
  const apartMs = waiting > 1 ? (last - head.acceptedAt) / (waiting - 1) : 0
  const endOf = (place: number) => head.acceptedAt + place * apartMs + policy.timeToLiveMs
  if (state === 'paused') {
    const count = countBefore(waiting, apartMs, now + PAUSED_WARNED_MS - endOf(0))
    return count === 0 ? null : { count, firstAt: endOf(0) }
  }
  const startsAt = (policy.quietHours && endOfQuietHours(policy.quietHours, now)) ?? now
  const eachMs = (policy.leastGapMs + policy.gapJitterMs / 2) / awakeShare(policy.quietHours)
  // Message k goes at startsAt + k × eachMs, and ends at endOf(k). Both are lines, so they cross once.
  const spareMs = endOf(0) - startsAt
  const fallsBehindMs = eachMs - apartMs
  if (spareMs < 0) {
    const count = fallsBehindMs >= 0 ? waiting : Math.min(waiting, Math.ceil(-spareMs / -fallsBehindMs))
    return { count, firstAt: endOf(0) }
  }
  if (fallsBehindMs <= 0) return null
  const firstLate = Math.floor(spareMs / fallsBehindMs) + 1
  return firstLate >= waiting ? null : { count: waiting - firstLate, firstAt: endOf(firstLate) }
}

/** How many of the first end within the time. */
function countBefore(waiting: number, apartMs: number, withinMs: number): number {
  if (withinMs < 0) return 0
  return apartMs === 0 ? waiting : Math.min(waiting, Math.floor(withinMs / apartMs) + 1)
}

/** Which share of a day is not quiet. */
function awakeShare(quiet: Lane['policy']['quietHours']): number {
  if (!quiet) return 1
  const minute = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5))
  const quietMinutes = (minute(quiet.to) - minute(quiet.from) + DAY_MINUTES) % DAY_MINUTES
  return (DAY_MINUTES - quietMinutes) / DAY_MINUTES
}
