import type { ConnectionId, Instant, WorkerId } from '../../ids.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { BlockedRecipients } from '../../ports/blocked-recipients.ts'
import type { Channel } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import type { ClaimedLane, Lanes } from '../../ports/lanes.ts'
import { Lane } from '../lane/lane.ts'
import type { LaneParts, RunLane } from '../lane/lane-parts.ts'
import { DEFER_FOR_MS, RendezvousAssignment } from './assignment.ts'
import { ClaimRetryQueue } from './claim-retry.ts'
import { WorkerLease } from './lease.ts'
import { ReleaseBatcher } from './release-batcher.ts'

const SWEEP_EVERY_MS = 250
const CLAIM_BATCH = 500
// A lane with nothing to do is kept this long, because the next message of a busy number usually comes soon. Claiming
// it anew costs half a millisecond; keeping it costs memory, and there may be ten thousand of them.
const IDLE_LANES_KEPT_MS = 10_000
// A look into an idle lane is one read. A burst that ends leaves thousands idle at once; their looks are spread.
const IDLE_POLLS_PER_SWEEP = 200
const EXPIRE_EVERY_MS = 5_000
const EXPIRE_BATCH = 2_000
// After a dropped claim we behave like a worker that has just come up.
const RECLAIM_AFTER_MS = 1_000

interface DispatcherParts {
  readonly worker: WorkerId
  readonly lanes: Lanes
  readonly channels: ReadonlyMap<string, Channel>
  readonly blocked: BlockedRecipients
  readonly clock: Clock
  readonly journal: Journal
  /** Since when this process is at the file of a message; null while it is not, and while it cannot be. */
  readonly mediaFetchedSince: (sequence: Sequence) => Instant | null
  /** The heads of lanes want their media before others get theirs. */
  readonly wantMedia: (sequences: readonly Sequence[]) => void
  /** How often to look for lanes that nobody told us of, in milliseconds. The look is the truth; being told only saves time. */
  readonly pollEveryMs: number
  /** This lane was given back for another worker: told of it, it need not find out by a look. Called for each lane. */
  readonly notifyPeers?: (connectionId: ConnectionId) => void
}

/**
 * Claims lanes and lets each of them run. Holds no rules: `nextStep`, `decideHead` and `Share` do.
 *
 * With other workers on the same database it takes the lanes of its own share, and hands over what is another's as soon
 * as it learns that one has come. Who holds a lane is decided by claims alone.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #lease: WorkerLease
  readonly #assignment: RendezvousAssignment
  readonly #released: ReleaseBatcher
  readonly #claimRetries: ClaimRetryQueue
  readonly #lanes = new Map<ConnectionId, Lane>()
  readonly #cancels = new Map<string, () => void>()
  readonly #handingOver = new Set<ConnectionId>()
  #wanted = new Set<ConnectionId>()
  #claiming: Promise<void> | null = null
  #taking: Promise<unknown> = Promise.resolve()
  #running = false
  /** Counts how often the set of living workers has changed. */
  #changes = 0

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#lease = new WorkerLease({ ...parts, onRenewed: (members) => this.#updateMembers(members) })
    this.#assignment = new RendezvousAssignment(parts)
    this.#released = new ReleaseBatcher(parts)
    this.#claimRetries = new ClaimRetryQueue(parts.clock, (id) => this.#want(id))
  }

  async start(): Promise<void> {
    if (this.#running) return
    this.#running = true
    await this.#lease.start()
    this.#every('expire', EXPIRE_EVERY_MS, () => this.#expire())
    this.#poll()
  }

  /**
   * A message was accepted for this connection, or its media arrived. Cheap. False when the lane is another worker's: then
   * somebody should tell the others.
   */
  wake(connectionId: ConnectionId): boolean {
    return this.#deliver(connectionId, (lane) => lane.wake())
  }

  /** The same, of a message that was accepted by this process a moment ago and needs nothing but to be sent. */
  accepted(message: QueuedMessage): boolean {
    return this.#deliver(message.connectionId, (lane) => lane.accept(message))
  }

  #deliver(connectionId: ConnectionId, say: (lane: Lane) => void): boolean {
    if (!this.#running) return false
    const lane = this.#lanes.get(connectionId)
    if (lane) {
      say(lane)
      return !lane.isEnding
    }
    if (this.#assignment.belongsToPeer(connectionId)) return false
    if (!this.#claimRetries.want(connectionId)) this.#want(connectionId)
    return true
  }

  /** Somebody changed these lanes: believe nothing that was loaded. */
  change(connectionIds: readonly ConnectionId[]): void {
    for (const id of connectionIds) {
      this.#claimRetries.forget(id)
      const lane = this.#lanes.get(id)
      if (lane) lane.change()
      else if (!this.#assignment.belongsToPeer(id)) this.#want(id)
    }
  }

  /** Gives a lane up at once, as if this worker had died: for the sandbox, which must be able to show what happens then. */
  dropClaim(connectionId: ConnectionId): void {
    this.#lanes.get(connectionId)?.drop()
    this.#later(`reclaim ${connectionId}`, RECLAIM_AFTER_MS, () => this.#want(connectionId))
  }

  /**
   * Opens nothing more, lets running calls finish for at most `graceMs`, records them, and gives all lanes back.
   * Harmless twice or before start.
   */
  async stop(graceMs: number): Promise<void> {
    if (!this.#running) return
    this.#running = false
    for (const cancel of this.#cancels.values()) cancel()
    this.#cancels.clear()
    this.#claimRetries.stop()
    const lanes = [...this.#lanes.values()]
    const abort = this.#parts.clock.after(graceMs, () => {
      for (const lane of lanes) lane.abortCall()
      // Whoever waits for the claim to hold again would wait as long as storage is away.
      void this.#lease.stop()
    })
    const sweeping = this.#repeat(SWEEP_EVERY_MS, () => this.#sweep())
    // Each is given back as it ends: one slow call must not keep all others from those who could go on with them.
    await Promise.all(lanes.map((lane) => lane.stop().then(() => this.#released.add(lane))))
    abort()
    sweeping()
    this.#lanes.clear()
    this.#handingOver.clear()
    await this.#released.settled()
    await this.#lease.stop()
    await this.#parts.lanes
      .deleteLease(this.#parts.worker)
      .catch((error: unknown) => this.#parts.journal.record({ event: 'storage.unavailable', error }))
  }

  get laneCount(): number {
    return this.#lanes.size
  }

  /** What each lane does, or the reason that it waits for. */
  *statuses(): Iterable<string> {
    for (const lane of this.#lanes.values()) yield lane.status
  }

  /** True when another living worker should have this lane. */
  belongsToPeer(connectionId: ConnectionId): boolean {
    return this.#assignment.belongsToPeer(connectionId)
  }

  #want(connectionId: ConnectionId): void {
    if (!this.#running) return
    this.#wanted.add(connectionId)
    this.#claiming ??= this.#claimWanted()
  }

  async #claimWanted(): Promise<void> {
    try {
      while (this.#running && this.#wanted.size > 0) {
        const only = [...this.#wanted].slice(0, CLAIM_BATCH)
        for (const id of only) this.#wanted.delete(id)
        await this.#take(only)
        if (this.#running) this.#claimRetries.add(only.filter((id) => !this.#lanes.has(id)))
      }
    } finally {
      this.#claiming = null
    }
  }

  /**
   * True when there may be more than one batch. One at a time: two that run together would both take a lane that
   * neither has begun yet, and the second claim would fence off the first.
   */
  #take(only: readonly ConnectionId[] | null): Promise<boolean> {
    const taken = this.#taking.then(() => this.#claimNow(only))
    this.#taking = taken
    return taken
  }

  async #claimNow(only: readonly ConnectionId[] | null): Promise<boolean> {
    const { lanes, worker, journal } = this.#parts
    try {
      // A claim made while our own heartbeat has run out would be free for others at once.
      await this.#lease.untilHeld()
      // A lane must not be taken and then released under its new owner.
      await this.#released.settled()
      if (!this.#running) return false
      const changes = this.#changes
      const shouldDefer = (id: ConnectionId) => this.#assignment.shouldDefer(id)
      const claimed = await lanes.claim({ worker, only, held: this.#lanes, shouldDefer, limit: CLAIM_BATCH })
      if (!this.#running) await lanes.release(claimed)
      else for (const lane of claimed) this.#begin(lane)
      // What was asked for by an older list of the living may be another's by now.
      if (changes !== this.#changes) this.#handOver(claimed)
      return claimed.length === CLAIM_BATCH
    } catch (error) {
      journal.record({ event: 'storage.unavailable', error })
      return false
    }
  }

  #begin(claimed: ClaimedLane): void {
    const { lanes, clock, journal, blocked, mediaFetchedSince, wantMedia, channels } = this.#parts
    const channel = channels.get(claimed.channel)
    if (!channel || this.#lanes.has(claimed.connectionId)) {
      journal.record({
        event: 'fault',
        where: 'dispatcher',
        error: new Error(`lane of channel ${claimed.channel} cannot be begun`),
      })
      // Others may know what to do with it.
      void this.#released.add(claimed)
      return
    }
    const parts: LaneParts = {
      lanes,
      clock,
      journal,
      channel,
      blocked,
      mediaFetchedSince,
      wantMedia,
      lease: this.#lease,
      onGone: (lane) => this.#forget(lane),
    }
    const lane = new Lane(claimed, parts)
    this.#lanes.set(claimed.connectionId, lane)
    if (!this.#cancels.has('sweep')) this.#sweepLater()
    this.#claimRetries.forget(claimed.connectionId)
    this.#assignment.claimed(claimed.connectionId)
    journal.record({ event: 'lane.claimed', connectionId: claimed.connectionId, epoch: claimed.epoch })
    lane.wake()
  }

  #forget(lane: RunLane): void {
    if (this.#lanes.get(lane.connectionId) !== lane) return
    this.#lanes.delete(lane.connectionId)
    this.#parts.journal.record({ event: 'lane.lost', connectionId: lane.connectionId, epoch: lane.epoch })
    const released = this.#released.add(lane)
    if (this.#handingOver.delete(lane.connectionId)) void released.then(() => this.#passOn(lane.connectionId))
  }

  #passOn(id: ConnectionId): void {
    if (this.#assignment.belongsToPeer(id)) this.#parts.notifyPeers?.(id)
    // Meanwhile the other worker has gone.
    else this.#want(id)
  }

  #updateMembers(members: readonly WorkerId[]): void {
    if (!this.#assignment.updateMembers(members) || !this.#running) return
    this.#changes += 1
    this.#handOver([...this.#lanes.values()])
    // The lanes of a worker that has died, or that has handed them over, are there to be taken.
    this.#later('poll', 0, () => this.#poll())
  }

  #handOver(lanes: readonly { readonly connectionId: ConnectionId }[]): void {
    for (const { connectionId: id } of lanes) {
      if (!this.#assignment.belongsToPeer(id) || !this.#lanes.has(id)) continue
      this.#handingOver.add(id)
      this.#lanes.get(id)?.handOver()
    }
  }

  /** Only while there are lanes: an idle process is not to be woken. */
  #sweepLater(): void {
    this.#later('sweep', SWEEP_EVERY_MS, () => {
      if (this.#lanes.size === 0) return
      this.#sweepLater()
      this.#sweep()
    })
  }

  #sweep(): void {
    const now = this.#parts.clock.monotonic()
    let polls = 0
    for (const lane of this.#lanes.values()) {
      lane.sweep()
      if (!this.#running || lane.idleSinceMonotonic === null) continue
      if (lane.idleSinceMonotonic < now - IDLE_LANES_KEPT_MS) lane.drop()
      // Another process may have accepted something for it, and its word of that may have been lost.
      else if (lane.polledMonotonic < now - this.#parts.pollEveryMs && polls++ < IDLE_POLLS_PER_SWEEP) lane.wake()
    }
  }

  async #expire(): Promise<void> {
    const { lanes, journal } = this.#parts
    try {
      const count = await lanes.expire(EXPIRE_BATCH)
      if (count > 0) journal.record({ event: 'messages.expired', count })
    } catch (error) {
      journal.record({ event: 'storage.unavailable', error })
    }
  }

  #poll(): void {
    if (!this.#running) return
    void this.#claimAll().finally(() => {
      if (this.#running) this.#later('poll', this.#nextPollMs(), () => this.#poll())
    })
  }

  /** Jittered, so that many workers do not look in step. What was left to others is looked at again when its time is over. */
  #nextPollMs(): number {
    const jitter = this.#parts.clock.random()
    const delayMs = this.#parts.pollEveryMs * (0.75 + jitter / 2)
    return this.#assignment.hasDeferredLanes ? Math.min(delayMs, DEFER_FOR_MS * (1 + jitter / 4)) : delayMs
  }

  async #claimAll(): Promise<void> {
    while (this.#running && (await this.#take(null))) {
      // Go on until a batch comes back short.
    }
  }

  #every(name: string, delayMs: number, call: () => unknown): void {
    this.#cancels.set(name, this.#repeat(delayMs, call))
  }

  #repeat(delayMs: number, call: () => unknown): () => void {
    let cancel = () => {}
    const again = () => {
      cancel = this.#parts.clock.after(delayMs, () => {
        again()
        call()
      })
    }
    again()
    return () => cancel()
  }

  /** Takes the place of what was planned under this name. */
  #later(name: string, delayMs: number, call: () => void): void {
    this.#cancels.get(name)?.()
    const cancel = this.#parts.clock.after(delayMs, () => {
      this.#cancels.delete(name)
      call()
    })
    this.#cancels.set(name, cancel)
  }
}
