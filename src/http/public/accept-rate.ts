import type { AccountId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'

interface Bucket {
  tokens: number
  filledAt: number
}

/**
 * Limits how many messages an account may send in a second. A bucket per account that holds one second's worth, so
 * that a burst after a pause is fine. In memory: it protects this process, it does not bill.
 */
export class AcceptRate {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #buckets = new Map<AccountId, Bucket>()

  /** `perSecond` 0 means no limit. */
  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock
    this.#perSecond = perSecond
  }

  /** Takes one message's worth. False when there is none left; within a second there will be. */
  take(accountId: AccountId): boolean {
    if (this.#perSecond === 0) return true
    const now = this.#clock.monotonic()
    const bucket = this.#buckets.get(accountId) ?? this.#newBucket(accountId, now)
    const refilled = bucket.tokens + ((now - bucket.filledAt) / 1000) * this.#perSecond
    bucket.tokens = Math.min(refilled, this.#perSecond)
    bucket.filledAt = now
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }

  #newBucket(accountId: AccountId, now: number): Bucket {
    const bucket = { tokens: this.#perSecond, filledAt: now }
    this.#buckets.set(accountId, bucket)
    return bucket
  }
}
