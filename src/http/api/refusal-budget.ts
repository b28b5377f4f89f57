import type { AccountId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { RefusedRequest } from '../../core/ports/intake.ts'

const HOUR_MS = 3_600_000
const FORGET_EVERY_MS = 60_000
// The size of a row without its counted texts: ids, numbers, indexes. Some 270 bytes on SQLite, 410 on PostgreSQL.
const ROW_BYTES = 500

interface Bucket {
  bytes: number
  filledAt: number
}

/**
 * Limits how many bytes of an account's refused requests are logged one by one, so that no account can fill the disk
 * (G8). A token bucket per account holds one hour's worth and refills evenly. In memory, for this process alone.
 */
export class RefusalBudget {
  readonly #clock: Clock
  readonly #bytesPerHour: number
  /** Only of accounts whose bucket is not full. */
  readonly #buckets = new Map<AccountId, Bucket>()
  #forgotAt = 0

  /** With 0 bytes there is no limit. */
  constructor(clock: Clock, bytesPerHour: number) {
    this.#clock = clock
    this.#bytesPerHour = bytesPerHour
  }

  /** Takes the bytes that this request needs. False, and takes nothing, when fewer are left. */
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
