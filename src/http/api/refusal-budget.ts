import type { AccountId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { RefusedRequest } from '../../core/ports/intake.ts'

const HOUR_MS = 3_600_000
const FORGET_EVERY_MS = 60_000
// What a row takes beside the texts that are counted: ids, numbers, indexes. Some 270 bytes on SQLite, 410 on PostgreSQL.
const ROW_BYTES = 500

interface Bucket {
  bytes: number
  filledAt: number
}

/**
 * Limits how much of what an account is refused is kept one by one, so that no account can fill the disk of all (G8). A
 * bucket per account that holds one hour's worth, and is filled again evenly. In memory, and of this process alone.
 */
export class RefusalBudget {
  readonly #clock: Clock
  readonly #bytesPerHour: number
  /** Of accounts that took something since theirs was last full. */
  readonly #buckets = new Map<AccountId, Bucket>()
  #forgotAt = 0

  /** With 0 bytes there is no limit. */
  constructor(clock: Clock, bytesPerHour: number) {
    this.#clock = clock
    this.#bytesPerHour = bytesPerHour
  }

  /** Takes what it costs to keep this request. False when there is less left than that: then it takes nothing. */
  take(request: RefusedRequest): boolean {
    if (this.#bytesPerHour === 0) return true
    const now = this.#clock.monotonic()
    this.#forgetFull(now)
    const { accountId } = request
    const bytes = this.#bytesAt(this.#buckets.get(accountId), now) - sizeOf(request)
    if (bytes < 0) return false
    this.#buckets.set(accountId, { bytes, filledAt: now })
    return true
  }

  /** How many accounts are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  #bytesAt(bucket: Bucket | undefined, now: number): number {
    if (!bucket) return this.#bytesPerHour
    return Math.min(this.#bytesPerHour, bucket.bytes + ((now - bucket.filledAt) / HOUR_MS) * this.#bytesPerHour)
  }

  #forgetFull(now: number): void {
    if (now - this.#forgotAt < FORGET_EVERY_MS) return
    this.#forgotAt = now
    for (const [accountId, bucket] of this.#buckets)
      if (this.#bytesAt(bucket, now) >= this.#bytesPerHour) this.#buckets.delete(accountId)
  }
}

function sizeOf({ body, errors, facts }: RefusedRequest): number {
  return ROW_BYTES + errors.length + (facts.userAgent?.length ?? 0) + (body === null ? 0 : Buffer.byteLength(body))
}
