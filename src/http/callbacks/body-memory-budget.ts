import type { AccountId } from '../../core/ids.ts'

const MEGABYTE = 1024 * 1024

interface BodyMemoryLimits {
  readonly bytes: number
  readonly bytesPerAccount: number
  /** A body is small up to this many received bytes. */
  readonly smallBytes: number
}

/**
 * How many bytes of callback bodies may be in memory at once: twenty of the largest bodies, thousands of usual ones.
 *
 * An account may use an eighth: two of the largest bodies, hundreds of usual ones. So eight accounts are needed to use up
 * the memory. Callbacks usually have one or two kilobytes, and a batch of a hundred about 64.
 */
export const BODY_MEMORY: BodyMemoryLimits = {
  bytes: 64 * MEGABYTE,
  bytesPerAccount: 8 * MEGABYTE,
  smallBytes: 64 * 1024,
}

// The rest is reserved for small bodies, so large ones, even incomplete ones, cannot keep usual callbacks out.
const SHARE_OF_LARGE = 3 / 4

/** Limits the bytes of bodies in memory, in all and for each account. Counts received bytes, not announced ones. */
export class BodyMemoryBudget {
  readonly #limits: BodyMemoryLimits
  readonly #takenBy = new Map<AccountId, number>()
  #takenBytes = 0

  constructor(limits: BodyMemoryLimits) {
    this.#limits = limits
  }

  /** Takes `bytes` more for a body that then has `bodyBytes`. False when they are not available. */
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
