import type { AccountId } from '../../core/ids.ts'

const MEGABYTE = 1024 * 1024

interface BodyMemoryLimits {
  readonly bytes: number
  readonly bytesPerAccount: number
  /** A body counts as small until more of it came. */
  readonly smallBytes: number
}

/**
 * How much of bodies of callbacks is in memory at once: twenty of the largest, and thousands of usual ones.
 *
 * An account has an eighth: two of the largest and hundreds of usual ones, and it takes eight accounts to leave others
 * without. Callbacks are a kilobyte or two as a rule, and a batch of a hundred about 64.
 */
export const BODY_MEMORY: BodyMemoryLimits = {
  bytes: 64 * MEGABYTE,
  bytesPerAccount: 8 * MEGABYTE,
  smallBytes: 64 * 1024,
}

// The rest is for small bodies: whoever sends large ones, or only begins to, cannot keep the usual ones out.
const SHARE_OF_LARGE = 3 / 4

/** Bounds how much of bodies is in memory at once, in all and for each account. Counts what has come, not what is announced. */
export class BodyMemoryBudget {
  readonly #limits: BodyMemoryLimits
  readonly #takenBy = new Map<AccountId, number>()
  #takenBytes = 0

  constructor(limits: BodyMemoryLimits) {
    this.#limits = limits
  }

  /** Room for `bytes` more of a body that then has `bodyBytes`. False when there is none. */
  take(owner: AccountId, bytes: number, bodyBytes: number): boolean {
    const share = bodyBytes > this.#limits.smallBytes ? SHARE_OF_LARGE : 1
    const inAll = this.#takenBytes + bytes
    const ofOwner = (this.#takenBy.get(owner) ?? 0) + bytes
    if (inAll > this.#limits.bytes * share || ofOwner > this.#limits.bytesPerAccount * share) return false
    this.#takenBytes = inAll
    this.#takenBy.set(owner, ofOwner)
    return true
  }

  /** Never more than was taken. */
  release(owner: AccountId, bytes: number): void {
    const left = (this.#takenBy.get(owner) ?? 0) - bytes
    this.#takenBytes -= bytes
    if (left > 0) this.#takenBy.set(owner, left)
    else this.#takenBy.delete(owner)
  }
}
