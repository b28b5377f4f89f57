import type { Instant } from '../../core/ids.ts'

/** A burst that is allowed, and how fast it comes back. */
export interface BucketRule {
  readonly capacity: number
  readonly perSecond: number
}

export interface Bucket {
  /** May be below zero: what was sent all the same is paid back. */
  readonly tokens: number
  readonly at: Instant
}

/**
 * What is in a bucket by now. A bucket that was last read in the future was read before the clock was set back. It is unknown
 * how long ago that was, and the bucket must not wait until then.
 */
export function refill(bucket: Bucket, rule: BucketRule, now: Instant): Bucket {
  if (bucket.at > now) return { tokens: rule.capacity, at: now }
  const gained = ((now - bucket.at) / 1_000) * rule.perSecond
  return { tokens: Math.min(rule.capacity, bucket.tokens + gained), at: now }
}

/** When so many are in it; now, when they are. */
export function whenHolds(tokens: number, bucket: Bucket, rule: BucketRule): Instant {
  const missing = Math.min(tokens, rule.capacity) - bucket.tokens
  return missing <= 0 ? bucket.at : bucket.at + Math.ceil((missing / rule.perSecond) * 1_000)
}
