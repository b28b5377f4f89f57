import type { AccountId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'

interface Bucket {
  tokens: number
  filledAt: number
}

interface RateLimit {
  /** For all processes together; 0 means no limit. */
  readonly perSecond: number
  /** How many processes share it, this one included. */
  acceptingProcesses(): number
}

/**
 * Limits how many messages an account may send per second. A token bucket per account holds one second's worth, so a
 * burst after a pause is fine. In memory, because it protects the service and counts nothing for billing.
 *
 * Each process uses an equal share, because asking its peers would cost every message a round trip. So an account whose
 * requests all go to one process gets only the share of that process.
 */
export class AcceptRate {
  readonly #clock: Clock
  readonly #limit: RateLimit
  readonly #buckets = new Map<AccountId, Bucket>()

  constructor(clock: Clock, limit: RateLimit) {
    this.#clock = clock
    this.#limit = limit
  }

  /** Takes one token. False when none is left. */
  take(accountId: AccountId): boolean {
    if (this.#limit.perSecond === 0) return true
    const now = this.#clock.monotonic()
    const share = this.#share()
    const bucket = this.#buckets.get(accountId) ?? this.#newBucket(accountId, { tokens: roomFor(share), filledAt: now })
    const refilled = bucket.tokens + ((now - bucket.filledAt) / 1000) * share
    bucket.tokens = Math.min(refilled, roomFor(share))
    bucket.filledAt = now
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }

  /** Undoes a `take` that was true, because no message came of it. */
  release(accountId: AccountId): void {
    const bucket = this.#buckets.get(accountId)
    if (bucket) bucket.tokens = Math.min(bucket.tokens + 1, roomFor(this.#share()))
  }

  #share(): number {
    return this.#limit.perSecond / Math.max(1, this.#limit.acceptingProcesses())
  }

  #newBucket(accountId: AccountId, bucket: Bucket): Bucket {
    this.#buckets.set(accountId, bucket)
    return bucket
  }
}

/** A bucket with room for less than one message would never let a message through. */
function roomFor(share: number): number {
  return Math.max(1, share)
}
