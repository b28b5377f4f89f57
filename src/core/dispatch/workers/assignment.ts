import type { ConnectionId, WorkerId } from '../../ids.ts'
import type { Clock } from '../../ports/clock.ts'

// How long this worker leaves a free lane with messages to the worker it is assigned to. A healthy one claims it within a
// second of a notification. With a longer time, a worker that renews its lease but claims nothing would starve its lanes;
// with a shorter one, a busy worker would lose them.
export const DEFER_FOR_MS = 5_000
// A lane that was not found free for this long was claimed or had nothing to do. Longer than the time between two polls.
const FORGET_AFTER_MS = 20_000
// Lanes beyond this number wait until earlier ones have been claimed.
const MOST_DEFERRED = 10_000

interface Deferral {
  readonly sinceMonotonic: number
  seenMonotonic: number
}

interface HashedWorker {
  readonly id: WorkerId
  readonly hash: number
}

/**
 * Assigns lanes to workers, so that lanes are distributed evenly and no two workers race for one. Each worker computes it
 * from the same list of living workers, without asking the others. Lists may differ for a short time, and then two workers
 * want the same lane, or none does. Neither is dangerous: only the claim decides which worker holds a lane.
 */
export class RendezvousAssignment {
  readonly #worker: WorkerId
  readonly #clock: Clock
  #members: readonly HashedWorker[] = []
  readonly #deferred = new Map<ConnectionId, Deferral>()

  constructor({ worker, clock }: { worker: WorkerId; clock: Clock }) {
    this.#worker = worker
    this.#clock = clock
  }

  /** Sets the list of living workers. True when it has changed. */
  updateMembers(members: readonly WorkerId[]): boolean {
    this.#forgetClaimed()
    const before = new Set(this.#members.map(({ id }) => id))
    if (members.length === before.size && members.every((id) => before.has(id))) return false
    this.#members = hashed(members)
    return true
  }

  /** True when the lane is assigned to another living worker. */
  belongsToPeer(id: ConnectionId): boolean {
    if (this.#members.length === 0 || (this.#members.length === 1 && this.#members[0]?.id === this.#worker))
      return false
    return preferred(id, this.#members) !== this.#worker
  }

  /** For a free lane with messages: true while it is left to the worker that it is assigned to. */
  shouldDefer(id: ConnectionId): boolean {
    if (!this.belongsToPeer(id)) return false
    const now = this.#clock.monotonic()
    const deferred = this.#deferred.get(id)
    if (deferred) {
      deferred.seenMonotonic = now
      return now - deferred.sinceMonotonic < DEFER_FOR_MS
    }
    if (this.#deferred.size < MOST_DEFERRED) this.#deferred.set(id, { sinceMonotonic: now, seenMonotonic: now })
    return true
  }

  /** This worker has claimed it. */
  claimed(id: ConnectionId): void {
    this.#deferred.delete(id)
  }

  /** True while this worker may have to claim lanes that are assigned to others. */
  get hasDeferredLanes(): boolean {
    return this.#deferred.size > 0
  }

  #forgetClaimed(): void {
    const before = this.#clock.monotonic() - FORGET_AFTER_MS
    for (const [id, { seenMonotonic }] of this.#deferred) if (seenMonotonic < before) this.#deferred.delete(id)
  }
}

/**
 * Rendezvous hashing: each pair of worker and connection has a hash, and the worker with the highest one gets the lane. When
 * a worker comes or leaves, only the lanes that it gets or had move.
 */
function preferred(id: ConnectionId, members: readonly HashedWorker[]): WorkerId | null {
  const hash = hashText(id)
  let best: HashedWorker | null = null
  let highest = -1
  for (const worker of members) {
    const score = mix(hash ^ worker.hash)
    if (score < highest || (score === highest && best !== null && worker.id > best.id)) continue
    best = worker
    highest = score
  }
  return best?.id ?? null
}

function hashed(workers: readonly WorkerId[]): readonly HashedWorker[] {
  return workers.map((id) => ({ id, hash: hashText(id) }))
}

/** FNV-1a and one more mix: ids differ in their last characters, which FNV alone hardly distributes. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mix(hash)
}

/** The finaliser of MurmurHash3: each bit of the input moves about half of the 32 bits of the result. */
function mix(hash: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  mixed ^= mixed >>> 16
  return mixed >>> 0
}
