import type { ConnectionId, Instant } from '../../core/ids.ts'
import { type Bucket, type BucketRule, refill, whenHolds } from './token-bucket.ts'
import { keyOf } from './window-memory.ts'

/**
 * One message in 6 seconds to the same person, with bursts of up to 45 (Meta's page “About the platform”: pair rate limits).
 */
export const PAIR_RULE: BucketRule = { capacity: 45, perSecond: 1 / 6 }
// How many recipients are remembered. Most get no second message soon, so their buckets are full and can be forgotten.
const MOST_PAIRS = 20_000
/** After this many refusals in a row the wait does not grow further: 4^6 s are more than an hour. */
const MOST_PAIR_REFUSALS = 6
// Longer than the longest wait. A recipient who got nothing for this long starts again at zero.
const REFUSALS_FORGOTTEN_MS = 2 * 3_600_000

export interface PacedMessage {
  readonly connectionId: ConnectionId
  readonly to: string
  /** How many messages a second the number may send. */
  readonly perSecond: number
}

export interface RateLimitDelay {
  readonly until: Instant
  readonly reason: 'whatsapp_pair_pace' | 'whatsapp_number_pace'
}

interface Pair {
  bucket: Bucket
  refusals: number
  refusedAt: Instant
}

/**
 * Counts what this process has sent, so that it slows down before the network refuses. Only in memory: a worker that takes a
 * lane over may send too fast once, and is then refused.
 */
export class Pace {
  readonly #pairs = new Map<string, Pair>()
  readonly #numbers = new Map<ConnectionId, Bucket>()

  /** Null: it may go now. */
  rateLimitDelayOf(message: PacedMessage, now: Instant): RateLimitDelay | null {
    const pair = refill(this.#pairOf(message)?.bucket ?? fullAt(PAIR_RULE, now), PAIR_RULE, now)
    const pairUntil = whenHolds(1, pair, PAIR_RULE)
    if (pairUntil > now) return { until: pairUntil, reason: 'whatsapp_pair_pace' }
    const rule = numberRule(message.perSecond)
    const number = refill(this.#numbers.get(message.connectionId) ?? fullAt(rule, now), rule, now)
    if (number.tokens >= 1) return null
    // A quarter second's worth at once, so that a fast lane does not rest before each single message.
    return { until: whenHolds(Math.max(1, rule.capacity / 4), number, rule), reason: 'whatsapp_number_pace' }
  }

  /** A message was sent, or may have been. */
  took(message: PacedMessage, now: Instant): void {
    const key = pairKey(message)
    const pair = this.#pairs.get(key) ?? { bucket: fullAt(PAIR_RULE, now), refusals: 0, refusedAt: now }
    pair.bucket = take(pair.bucket, PAIR_RULE, now)
    // Moved to the end, so that the first entries are those that rested longest.
    this.#pairs.delete(key)
    this.#pairs.set(key, pair)
    if (this.#pairs.size > MOST_PAIRS) this.#forgetFirst()
    const rule = numberRule(message.perSecond)
    const number = this.#numbers.get(message.connectionId) ?? fullAt(rule, now)
    this.#numbers.set(message.connectionId, take(number, rule, now))
  }

  accepted(message: PacedMessage): void {
    const pair = this.#pairOf(message)
    if (pair) pair.refusals = 0
  }

  /**
   * The network said that it was too fast for this recipient. Returns how long to wait, in milliseconds: 4^X seconds,
   * where X grows from 0 with each refusal (Meta's page “Error codes”: 131056).
   */
  refused(message: PacedMessage, now: Instant): number {
    const pair = this.#pairOf(message) ?? { bucket: { tokens: 0, at: now }, refusals: 0, refusedAt: now }
    if (Math.abs(now - pair.refusedAt) > REFUSALS_FORGOTTEN_MS) pair.refusals = 0
    const waitMs = 4 ** Math.min(pair.refusals, MOST_PAIR_REFUSALS) * 1_000
    pair.bucket = { tokens: Math.min(pair.bucket.tokens, 0), at: now }
    pair.refusals += 1
    pair.refusedAt = now
    this.#pairs.set(pairKey(message), pair)
    return waitMs
  }

  #pairOf(message: PacedMessage): Pair | undefined {
    return this.#pairs.get(pairKey(message))
  }

  #forgetFirst(): void {
    const [first] = this.#pairs.keys()
    if (first !== undefined) this.#pairs.delete(first)
  }
}

function numberRule(perSecond: number): BucketRule {
  return { capacity: Math.max(1, perSecond), perSecond }
}

function fullAt({ capacity }: BucketRule, at: Instant): Bucket {
  return { tokens: capacity, at }
}

function take(bucket: Bucket, rule: BucketRule, now: Instant): Bucket {
  const filled = refill(bucket, rule, now)
  return { tokens: filled.tokens - 1, at: now }
}

function pairKey({ connectionId, to }: PacedMessage): string {
  return `${connectionId}:${keyOf(to)}`
}
