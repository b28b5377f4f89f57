import type { ConnectionId, WorkerId } from '../../ids.ts'
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
import { LeftLanes } from './left-lanes.ts'
import { ReleaseBatcher } from './release-batcher.ts'

const SWEEP_EVERY_MS = 250
const CLAIM_BATCH = 500
// A lane with nothing to do is kept this long, because the next message of a busy number usually comes soon. Claiming
// it anew costs half a millisecond; keeping it costs memory, and there may be ten thousand of them.
const IDLE_LANES_KEPT_MS = 10_000
// Polling an idle lane is one read. A burst that ends leaves thousands idle at once, so their polls are spaced out.
const IDLE_POLLS_PER_SWEEP = 200
const EXPIRE_EVERY_MS = 5_000
const EXPIRE_BATCH = 2_000
// A worker that has dropped a claim behaves like one that has just started.
const RECLAIM_AFTER_MS = 1_000
// A lane that this process cannot serve is kept until its messages say why they wait.
const UNSERVED_KEPT_MS = 2_000

interface DispatcherParts {
  readonly worker: WorkerId
  readonly lanes: Lanes
  readonly channels: ReadonlyMap<string, Channel>
  readonly blocked: BlockedRecipients
  readonly clock: Clock
  readonly journal: Journal
  /** Fetches the media of these messages, which their lanes wait for, before that of others. */
  readonly wantMedia: (sequences: readonly Sequence[]) => void
  /** How often to poll for lanes with messages, in milliseconds. Polling is authoritative; notifications only cut latency. */
  readonly pollEveryMs: number
  /** Called for each lane that was released for another worker, so that it need not wait for its next poll. */
  readonly notifyPeers?: (connectionId: ConnectionId) => void
}

/**
 * Claims lanes and runs them. It holds no rules: `nextStep`, `decideMessage` and `RendezvousAssignment` do.
 *
 * Beside other workers on the same database it claims the lanes that are assigned to it, and hands over the others as soon
 * as it learns that a worker has joined. Only claims decide which worker holds a lane.
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
  /** Lanes that are released once their session is closed. */
  readonly #closing = new Map<ConnectionId, Promise<void>>()
  readonly #left: LeftLanes
  #wanted = new Set<ConnectionId>()
  #claiming: Promise<void> | null = null
  #taking: Promise<unknown> = Promise.resolve()
  #running = false
  #stopping = new AbortController()
  /** Counts how often the set of living workers has changed. */
  #changes = 0

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#lease = new WorkerLease({ ...parts, onRenewed: (members) => this.#updateMembers(members) })
    this.#assignment = new RendezvousAssignment(parts)
    this.#released = new ReleaseBatcher(parts)
    this.#left = new LeftLanes(parts.clock)
    this.#claimRetries = new ClaimRetryQueue(parts.clock, (id) => this.#want(id))
  }

  async start(): Promise<void> {
    if (this.#running) return
    this.#running = true
    this.#stopping = new AbortController()
    await this.#lease.start()
    this.#every('expire', EXPIRE_EVERY_MS, () => this.#expire())
    this.#poll()
  }

  /**
   * A message was accepted for this connection, or its media arrived. Cheap. False when the lane is another worker's: then
   * the caller should notify the other processes.
   */
  wake(connectionId: ConnectionId): boolean {
    return this.#deliver(connectionId, (lane) => lane.wake())
  }

  /** As `wake`, for a message that this process has just accepted and that waits for nothing else. */
  accepted(message: QueuedMessage): boolean {
    return this.#deliver(message.connectionId, (lane) => lane.accept(message))
  }

  /** The file of this message arrived, or the message failed without it. */
  mediaSettled(connectionId: ConnectionId, sequence: Sequence): void {
    this.#deliver(connectionId, (lane) => lane.mediaSettled(sequence))
  }

  #deliver(connectionId: ConnectionId, wake: (lane: Lane) => void): boolean {
    if (!this.#running) return false
    const lane = this.#lanes.get(connectionId)
    if (lane) {
      wake(lane)
      return !lane.isEnding
    }
    if (this.#assignment.belongsToPeer(connectionId)) return false
    if (!this.#claimRetries.want(connectionId)) this.#want(connectionId)
    return true
  }

  /** These lanes have changed: they load everything again. */
  change(connectionIds: readonly ConnectionId[]): void {
    for (const id of connectionIds) {
      this.#claimRetries.forget(id)
      const lane = this.#lanes.get(id)
      if (lane) lane.change()
      else if (!this.#assignment.belongsToPeer(id)) this.#want(id)
    }
  }

  /** Releases a lane at once, as if this worker had died, so that the sandbox can demonstrate a crash. */
  dropClaim(connectionId: ConnectionId): void {
    this.#lanes.get(connectionId)?.drop()
    this.#later(`reclaim ${connectionId}`, RECLAIM_AFTER_MS, () => this.#want(connectionId))
  }

  /**
   * Starts nothing more, lets running calls finish for at most `graceMs`, records them, and releases all lanes.
   * Harmless twice or before start.
   */
  async stop(graceMs: number): Promise<void> {
    if (!this.#running) return
    this.#running = false
    this.#stopping.abort()
    for (const cancel of this.#cancels.values()) cancel()
    this.#cancels.clear()
    this.#claimRetries.stop()
    const lanes = [...this.#lanes.values()]
    const abort = this.#parts.clock.after(graceMs, () => {
      for (const lane of lanes) lane.abortCall()
      // A lane that waits for the lease would wait as long as storage is unavailable.
      void this.#lease.stop()
    })
    const sweeping = this.#repeat(SWEEP_EVERY_MS, () => this.#sweep())
    // Each lane is released as it ends: one slow call must not keep other workers from the remaining lanes.
    await Promise.all(lanes.map((lane) => lane.stop().then(() => this.#release(lane))))
    await Promise.all(this.#closing.values())
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

  /** How many messages of its lanes are deferred, or wait behind one that is. */
  get deferredCount(): number {
    let count = 0
    for (const lane of this.#lanes.values()) count += lane.deferredCount
    return count
  }

  /** True when the lane is assigned to another living worker. */
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
   * True when there may be another batch. One at a time: two parallel claims could both take a lane that neither has started,
   * and the second claim would fence off the first.
   */
  #take(only: readonly ConnectionId[] | null): Promise<boolean> {
    const taken = this.#taking.then(() => this.#claimNow(only))
    this.#taking = taken
    return taken
  }

  async #claimNow(only: readonly ConnectionId[] | null): Promise<boolean> {
    const { lanes, worker, journal } = this.#parts
    try {
      // A lane claimed after our lease expired would be free for others at once.
      await this.#lease.untilHeld()
      // A pending release must not release a lane that has been claimed again.
      await this.#released.settled()
      if (!this.#running) return false
      const changes = this.#changes
      const shouldDefer = (id: ConnectionId) => this.#left.has(id) || this.#assignment.shouldDefer(id)
      const held = { has: (id: ConnectionId) => this.#lanes.has(id) || this.#closing.has(id) }
      const claimed = await lanes.claim({ worker, only, held, shouldDefer, limit: CLAIM_BATCH })
      if (!this.#running) await lanes.release(claimed)
      else for (const lane of claimed) this.#begin(lane)
      // The list of workers changed during the claim, so some lanes may be assigned to others by now.
      if (changes !== this.#changes) this.#handOver(claimed)
      return claimed.length === CLAIM_BATCH
    } catch (error) {
      journal.record({ event: 'storage.unavailable', error })
      return false
    }
  }

  #begin(claimed: ClaimedLane): void {
    const { lanes, clock, journal, blocked, wantMedia, channels } = this.#parts
    const channel = channels.get(claimed.channel)
    if (!channel || this.#lanes.has(claimed.connectionId)) {
      journal.record({
        event: 'fault',
        where: 'dispatcher',
        error: new Error(`lane of channel ${claimed.channel} cannot be begun`),
      })
      // Another process may have that channel.
      void this.#released.add(claimed)
      return
    }
    const parts: LaneParts = {
      lanes,
      clock,
      journal,
      channel,
      blocked,
      wantMedia,
      lease: this.#lease,
      stopping: this.#stopping.signal,
      onGone: (lane) => this.#forget(lane),
    }
    const lane = new Lane(claimed, parts)
    this.#lanes.set(claimed.connectionId, lane)
    if (!this.#cancels.has('sweep')) this.#sweepLater()
    this.#claimRetries.forget(claimed.connectionId)
    this.#assignment.claimed(claimed.connectionId)
    journal.record({ event: 'lane.claimed', connectionId: claimed.connectionId, epoch: claimed.epoch })
    lane.wake()
    if (channel.isAvailable?.() === false) this.#leaveToOthers(lane, channel)
  }

  #leaveToOthers(lane: Lane, channel: Channel): void {
    const { connectionId: id } = lane
    this.#later(`leave ${id}`, UNSERVED_KEPT_MS, () => {
      if (channel.isAvailable?.() !== false || this.#lanes.get(id) !== lane) return
      this.#left.leave(id)
      lane.handOver()
    })
  }

  #forget(lane: RunLane): void {
    if (this.#lanes.get(lane.connectionId) !== lane) return
    this.#lanes.delete(lane.connectionId)
    this.#parts.journal.record({ event: 'lane.lost', connectionId: lane.connectionId, epoch: lane.epoch })
    const released = this.#release(lane)
    if (this.#handingOver.delete(lane.connectionId)) void released.then(() => this.#passOn(lane.connectionId))
  }

  /** The next owner may open a session at once, so ours is closed first. */
  #release(lane: RunLane): Promise<void> {
    const closed = lane.closeSession()
    if (!closed) return this.#released.add(lane)
    const { connectionId: id } = lane
    const released = closed.then(() => this.#released.add(lane)).finally(() => this.#closing.delete(id))
    this.#closing.set(id, released)
    return released
  }

  #passOn(id: ConnectionId): void {
    if (this.#assignment.belongsToPeer(id)) this.#parts.notifyPeers?.(id)
    // The other worker has gone since.
    else this.#want(id)
  }

  #updateMembers(members: readonly WorkerId[]): void {
    if (!this.#assignment.updateMembers(members) || !this.#running) return
    this.#changes += 1
    this.#handOver([...this.#lanes.values()])
    // The lanes of a worker that has died can be claimed now.
    this.#later('poll', 0, () => this.#poll())
  }

  #handOver(lanes: readonly { readonly connectionId: ConnectionId }[]): void {
    for (const { connectionId: id } of lanes) {
      if (!this.#assignment.belongsToPeer(id) || !this.#lanes.has(id)) continue
      this.#handingOver.add(id)
      this.#lanes.get(id)?.handOver()
    }
  }

  /** Only while there are lanes, so that an idle process sleeps. */
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
      if (!lane.isKept && lane.idleSinceMonotonic < now - IDLE_LANES_KEPT_MS) lane.drop()
      // The notification of a change may have been lost.
      else if (lane.polledMonotonic < now - this.#parts.pollEveryMs && polls++ < IDLE_POLLS_PER_SWEEP) lane.poll()
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

  /** Jittered, so that many workers do not poll at once. Deferred lanes are polled again when their time is over. */
  #nextPollMs(): number {
    const jitter = this.#parts.clock.random()
    const delayMs = this.#parts.pollEveryMs * (0.75 + jitter / 2)
    return this.#assignment.hasDeferredLanes ? Math.min(delayMs, DEFER_FOR_MS * (1 + jitter / 4)) : delayMs
  }

  async #claimAll(): Promise<void> {
    while (this.#running && (await this.#take(null))) {
      // Repeat until a batch is not full.
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

  /** Replaces the timer of the same name. */
  #later(name: string, delayMs: number, call: () => void): void {
    this.#cancels.get(name)?.()
    const cancel = this.#parts.clock.after(delayMs, () => {
      this.#cancels.delete(name)
      call()
    })
    this.#cancels.set(name, cancel)
  }
}
