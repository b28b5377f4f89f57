import type { ConnectionId, WorkerId } from '../../ids.ts'
import type { Clock } from '../../ports/clock.ts'

// How long a lane that has something to do may be left to the worker that should take it. A healthy one takes it within
// a second of being told. Longer, and a worker that beats but does not claim would starve its lanes; shorter, and a
// busy one would have them taken away.
export const DEFER_FOR_MS = 5_000
// Not found free for this long, a lane has been taken or has had nothing to do. Longer than the time between two looks.
const FORGET_AFTER_MS = 20_000
// What comes on top is simply left, until those before have been taken: then it has its turn.
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
 * Which lanes this worker takes, so that lanes are spread evenly and no two workers race for one. Nobody is asked: each
 * worker works it out from the same list of living workers. Lists may differ for a moment, and then two workers believe
 * that a lane is theirs, or none does. Neither is dangerous: who holds a lane is decided by its claim alone.
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

  /** Takes note of who lives. True when that has changed. */
  updateMembers(members: readonly WorkerId[]): boolean {
    this.#forgetClaimed()
    const before = new Set(this.#members.map(({ id }) => id))
    if (members.length === before.size && members.every((id) => before.has(id))) return false
    this.#members = hashed(members)
    return true
  }

  /** True when another living worker should have it. */
  belongsToPeer(id: ConnectionId): boolean {
    if (this.#members.length === 0 || (this.#members.length === 1 && this.#members[0]?.id === this.#worker))
      return false
    return preferred(id, this.#members) !== this.#worker
  }

  /** To be asked about a lane that is free and has something to do: true when another worker is to take it. */
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

  /** True while lanes may have to be taken that should be another's. */
  get hasDeferredLanes(): boolean {
    return this.#deferred.size > 0
  }

  #forgetClaimed(): void {
    const before = this.#clock.monotonic() - FORGET_AFTER_MS
    for (const [id, { seenMonotonic }] of this.#deferred) if (seenMonotonic < before) this.#deferred.delete(id)
  }
}

/**
 * The worker that should hold a connection's lane: the one with the highest lot, where each pair of worker and
 * connection has its own. When a worker comes or leaves, only the lanes it gets or had move (rendezvous hashing).
 */
function preferred(id: ConnectionId, members: readonly HashedWorker[]): WorkerId | null {
  const hash = hashText(id)
  let best: HashedWorker | null = null
  let highest = -1
  for (const worker of members) {
    const lot = mix(hash ^ worker.hash)
    if (lot < highest || (lot === highest && best !== null && worker.id > best.id)) continue
    best = worker
    highest = lot
  }
  return best?.id ?? null
}

function hashed(workers: readonly WorkerId[]): readonly HashedWorker[] {
  return workers.map((id) => ({ id, hash: hashText(id) }))
}

/** FNV-1a, and mixed once more: ids differ in their last characters, which FNV alone hardly spreads. */
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
