import type { ConnectionId, WorkerId } from '../ids.ts'
import type { Sequence } from '../message/message.ts'
import type { Channel } from '../ports/channel.ts'
import type { Clock } from '../ports/clock.ts'
import type { Journal } from '../ports/journal.ts'
import type { ClaimedLane, Lanes } from '../ports/lanes.ts'
import { Lane, type LaneParts } from './lane.ts'
import { WorkerClaim } from './worker-claim.ts'

const SWEEP_EVERY_MS = 250
const CLAIM_BATCH = 500
// A lane with nothing to do is kept this long, because the next message of a busy number usually comes soon. Claiming
// it anew costs half a millisecond; keeping it costs memory, and there may be ten thousand of them.
const IDLE_LANES_KEPT_MS = 10_000
const EXPIRE_EVERY_MS = 5_000
const EXPIRE_BATCH = 2_000
// After a dropped claim we behave like a worker that has just come up.
const RECLAIM_AFTER_MS = 1_000

export interface DispatcherParts {
  readonly worker: WorkerId
  readonly lanes: Lanes
  readonly channels: ReadonlyMap<string, Channel>
  readonly clock: Clock
  readonly journal: Journal
  readonly isMediaStalled: () => boolean
  /** The heads of lanes want their media before others get theirs. */
  readonly wantMedia: (sequences: readonly Sequence[]) => void
  /** How often to look for lanes that nobody told us of, in milliseconds. The look is the truth; being told only saves time. */
  readonly pollEveryMs: number
}

/** Claims lanes and lets each of them run. Holds no rules: `nextStep` and `decideHead` do. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #claim: WorkerClaim
  readonly #lanes = new Map<ConnectionId, Lane>()
  readonly #cancels = new Map<string, () => void>()
  #wanted = new Set<ConnectionId>()
  #claiming: Promise<void> | null = null
  #taking: Promise<unknown> = Promise.resolve()
  #running = false
  #releasing: Promise<unknown> = Promise.resolve()

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#claim = new WorkerClaim(parts)
  }

  async start(): Promise<void> {
    if (this.#running) return
    this.#running = true
    await this.#claim.start()
    this.#every('sweep', SWEEP_EVERY_MS, () => this.#sweep())
    this.#every('expire', EXPIRE_EVERY_MS, () => this.#expire())
    this.#poll()
  }

  /** A message was accepted for this connection, or its media arrived. Cheap: called for every acceptance. */
  wake(connectionId: ConnectionId): void {
    const lane = this.#lanes.get(connectionId)
    if (lane) lane.wake()
    else this.#want(connectionId)
  }

  /** Somebody changed these lanes: believe nothing that was loaded. */
  change(connectionIds: readonly ConnectionId[]): void {
    for (const id of connectionIds) {
      const lane = this.#lanes.get(id)
      if (lane) lane.change()
      else this.#want(id)
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
    const lanes = [...this.#lanes.values()]
    const abort = this.#parts.clock.after(graceMs, () => {
      for (const lane of lanes) lane.abortCall()
      // Whoever waits for the claim to hold again would wait as long as storage is away.
      this.#claim.stop()
    })
    const sweeping = this.#repeat(SWEEP_EVERY_MS, () => this.#sweep())
    await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()))
    abort()
    sweeping()
    await this.#release([...this.#lanes.values()])
    this.#lanes.clear()
    await this.#releasing
    await this.#parts.lanes
      .retire(this.#parts.worker)
      .catch((error: unknown) => this.#parts.journal.record({ event: 'storage.unavailable', error }))
    this.#claim.stop()
  }

  get laneCount(): number {
    return this.#lanes.size
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
    const taken = this.#taking.then(() => this.#takeNow(only))
    this.#taking = taken
    return taken
  }

  async #takeNow(only: readonly ConnectionId[] | null): Promise<boolean> {
    const { lanes, clock, worker, journal } = this.#parts
    try {
      // A claim made while our own heartbeat has run out would be free for others at once.
      await this.#claim.held()
      await this.#releasing
      if (!this.#running) return false
      const claimed = await lanes.claim({ worker, now: clock.now(), only, held: this.#lanes, limit: CLAIM_BATCH })
      if (!this.#running) await lanes.release(claimed)
      else for (const lane of claimed) this.#begin(lane)
      return claimed.length === CLAIM_BATCH
    } catch (error) {
      journal.record({ event: 'storage.unavailable', error })
      return false
    }
  }

  #begin(claimed: ClaimedLane): void {
    const { lanes, clock, journal, isMediaStalled, wantMedia, channels } = this.#parts
    const channel = channels.get(claimed.channel)
    if (!channel || this.#lanes.has(claimed.connectionId)) {
      journal.record({
        event: 'fault',
        where: 'dispatcher',
        error: new Error(`lane of channel ${claimed.channel} cannot be begun`),
      })
      return
    }
    const parts: LaneParts = {
      lanes,
      clock,
      journal,
      channel,
      isMediaStalled,
      wantMedia,
      claim: this.#claim,
      onGone: (lane) => this.#forget(lane),
    }
    const lane = new Lane(claimed, parts)
    this.#lanes.set(claimed.connectionId, lane)
    journal.record({ event: 'lane.claimed', connectionId: claimed.connectionId, epoch: claimed.epoch })
    lane.wake()
  }

  #forget(lane: Lane): void {
    if (this.#lanes.get(lane.connectionId) !== lane) return
    this.#lanes.delete(lane.connectionId)
    this.#parts.journal.record({ event: 'lane.lost', connectionId: lane.connectionId, epoch: lane.epoch })
    // Claims wait for it: a lane must not be taken and then released under its new owner.
    this.#releasing = this.#releasing.then(() => this.#release([lane]))
  }

  /** A lane whose epoch has moved on is left alone by storage. */
  async #release(lanes: readonly Lane[]): Promise<void> {
    if (lanes.length === 0) return
    try {
      await this.#parts.lanes.release(lanes.map((lane) => ({ connectionId: lane.connectionId, epoch: lane.epoch })))
    } catch (error) {
      // Then the claim runs out by itself.
      this.#parts.journal.record({ event: 'storage.unavailable', error })
    }
  }

  #sweep(): void {
    const idleBefore = this.#parts.clock.monotonic() - IDLE_LANES_KEPT_MS
    for (const lane of this.#lanes.values()) {
      lane.sweep()
      if (this.#running && lane.idleSinceMonotonic !== null && lane.idleSinceMonotonic < idleBefore) lane.drop()
    }
  }

  async #expire(): Promise<void> {
    const { lanes, clock, journal } = this.#parts
    try {
      const count = await lanes.expire(clock.now(), EXPIRE_BATCH)
      if (count > 0) journal.record({ event: 'messages.expired', count })
    } catch (error) {
      journal.record({ event: 'storage.unavailable', error })
    }
  }

  #poll(): void {
    if (!this.#running) return
    void this.#takeAll().finally(() => {
      // Jittered, so that many workers do not look in step.
      const delayMs = this.#parts.pollEveryMs * (0.75 + this.#parts.clock.random() / 2)
      if (this.#running) this.#later('poll', delayMs, () => this.#poll())
    })
  }

  async #takeAll(): Promise<void> {
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

  #later(name: string, delayMs: number, call: () => void): void {
    this.#cancels.set(name, this.#parts.clock.after(delayMs, call))
  }
}
