import type { Instant } from '../../ids.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { Channel, Failure, Handover, Prepared } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal, JournalEvent } from '../../ports/journal.ts'
import { type ClaimedLane, StorageUnavailable } from '../../ports/lanes.ts'
import type { ReasonCode } from '../../reasons.ts'
import { attemptOf, handover } from '../rules/describe-attempt.ts'
import { BoundedCall } from './bounded-call.ts'
import type { LaneParts, RunLane } from './lane-parts.ts'

// More of them would share one line to the network, and come too early for messages that have to wait for the others.
const MOST_AT_ONCE = 2
// A running preparation is checked this often whether it is still wanted, whether or not a notification came.
const CHECK_EVERY_MS = 15_000
// Longer than the least gap of most connections. After it the channel is asked again, which is quick.
const READY_FOR_MS = 60_000

// Both count against the message, or one file that never gets through would be uploaded for ever.
const TOO_LONG = failed('network_error', 'getting it ready took longer than it may')
const FAULT = failed('channel_fault', 'the channel failed in a way it should not')

interface PreparationParts extends Pick<LaneParts, 'lanes' | 'channel' | 'clock' | 'journal' | 'lease'> {
  readonly lane: RunLane
  /** The lane is to decide about this message again. */
  readonly onEnded: (sequence: Sequence) => void
  /** Storage has another state of the lane. */
  readonly onOutdated: () => void
}

interface Started {
  readonly call: PrepareCall
  readonly handover: Handover
  readonly startedAt: Instant
  readonly startedMonotonic: number
  /** The generation of the lease in which the lane was known to be this worker's. */
  readonly generation: number
  checkedMonotonic: number
  /** Null while it runs. */
  prepared: Prepared | null
  readyUntilMonotonic: number
  /** False for one whose message waits for something else now. */
  takesRoom: boolean
}

/**
 * Prepares messages of a lane before their attempts start, beside the lane: others go on meanwhile. An upload may take minutes,
 * and has no visible effect, so it may be aborted at any time and repeated. Only the wait of its message is recorded, so a crash
 * during it leaves nothing open (G4).
 */
export class Preparation {
  readonly #parts: PreparationParts
  readonly #started = new Map<Sequence, Started>()

  constructor(parts: PreparationParts) {
    this.#parts = parts
  }

  /** True when this message needs no preparation, or had it a short while ago. */
  isReady({ sequence, media }: QueuedMessage): boolean {
    if (media?.kind !== 'ready') return true
    const started = this.#started.get(sequence)
    return started?.prepared?.kind === 'ready' && this.#parts.clock.monotonic() < started.readyUntilMonotonic
  }

  isRunning({ sequence }: QueuedMessage): boolean {
    return this.#started.get(sequence)?.prepared === null
  }

  /** Why it could not be prepared, once. */
  takeFailure({ sequence }: QueuedMessage): { readonly startedAt: Instant; readonly failure: Failure } | null {
    const started = this.#started.get(sequence)
    if (started?.prepared?.kind !== 'failed') return null
    this.#started.delete(sequence)
    return { startedAt: started.startedAt, failure: started.prepared.failure }
  }

  /** Whether another may start beside those that run and the `planned` ones. */
  hasRoomBeside(planned: number): boolean {
    let taken = planned
    for (const { takesRoom } of this.#started.values()) if (takesRoom) taken += 1
    return taken < MOST_AT_ONCE && this.#parts.lease.isHeld()
  }

  /** The wait of the message is committed. */
  start(message: QueuedMessage, { claimed, budgetMs, generation }: Begin): void {
    const { channel, clock, journal } = this.#parts
    const { sequence } = message
    const startedAt = clock.now()
    const started: Started = {
      call: new PrepareCall(clock, budgetMs),
      handover: handover(claimed, attemptOf(message, startedAt)),
      startedAt,
      startedMonotonic: clock.monotonic(),
      generation,
      checkedMonotonic: clock.monotonic(),
      prepared: null,
      readyUntilMonotonic: 0,
      takesRoom: true,
    }
    this.#started.set(sequence, started)
    this.cutIfLeaseLost()
    if (this.#started.get(sequence) !== started) return
    void started.call.run(channel, started.handover, journal).then((prepared) => {
      if (this.#started.get(sequence) !== started) return
      started.prepared = prepared
      started.readyUntilMonotonic = clock.monotonic() + READY_FOR_MS
      this.#record(started)
      this.#parts.onEnded(sequence)
    })
  }

  /** The message waits for something else, so that the preparation of another may start. */
  leaveRoom(sequence: Sequence): void {
    const started = this.#started.get(sequence)
    if (started) started.takesRoom = false
  }

  /** The message starts its attempt, whose next one needs a new preparation; or it is final. */
  drop(sequence: Sequence): void {
    const started = this.#started.get(sequence)
    if (!started || !this.#started.delete(sequence) || started.prepared) return
    started.call.abort()
    this.#record(started)
  }

  /** The lane ends: aborts those that run. */
  cut(): void {
    for (const sequence of this.#started.keys()) this.drop(sequence)
  }

  /** The lane may have changed: aborts those that are no longer wanted. */
  check(): void {
    for (const [sequence, started] of this.#started) {
      if (started.prepared) continue
      started.checkedMonotonic = this.#parts.clock.monotonic()
      void this.#check(sequence, started)
    }
  }

  /** Another worker may have the lane and prepare the same message: only one of them should. */
  cutIfLeaseLost(): void {
    const { lease } = this.#parts
    for (const [sequence, { generation, prepared }] of this.#started) {
      if (!prepared && !(lease.isHeld() && lease.generation === generation)) this.#abort(sequence)
    }
  }

  /** Ends what is overdue or has outlived the lease, and forgets what was prepared too long ago. */
  sweep(): void {
    if (this.#started.size === 0) return
    this.cutIfLeaseLost()
    const now = this.#parts.clock.monotonic()
    let isCheckDue = false
    for (const [sequence, { call, prepared, readyUntilMonotonic, checkedMonotonic }] of this.#started) {
      if (!prepared) {
        call.sweep()
        isCheckDue ||= now >= checkedMonotonic + CHECK_EVERY_MS
      } else if (prepared.kind === 'ready' && now >= readyUntilMonotonic) this.#started.delete(sequence)
    }
    if (isCheckDue) this.check()
  }

  async #check(sequence: Sequence, started: Started): Promise<void> {
    const isWanted = await this.#isWanted(sequence, started).catch((error: unknown) => {
      const isDown = error instanceof StorageUnavailable
      this.#parts.journal.record(
        isDown ? { event: 'storage.unavailable', error } : { event: 'fault', where: 'preparation', error },
      )
      // It is checked again in a while.
      return true
    })
    if (isWanted || this.#started.get(sequence) !== started) return
    this.#abort(sequence)
    this.#parts.onOutdated()
  }

  /** Reads from storage whether the message is still to be sent, by this worker, with these settings. */
  async #isWanted(sequence: Sequence, { handover: { settings } }: Started): Promise<boolean> {
    const { lanes, lane } = this.#parts
    const { connectionId, epoch } = lane
    const claimed = await lanes.inspect({ connectionId, epoch })
    if (!claimed?.mayOpen || JSON.stringify(claimed.channelSettings) !== JSON.stringify(settings)) return false
    const [found] = await lanes.fetchNext(connectionId, 1, sequence - 1)
    return found?.sequence === sequence && found.media?.kind === 'ready'
  }

  /** It does not count against the message, which is decided about again once the lease is held. */
  #abort(sequence: Sequence): void {
    this.drop(sequence)
    void this.#parts.lease.untilHeld().then(() => this.#parts.onEnded(sequence))
  }

  #record({ handover, startedMonotonic, prepared }: Started): void {
    const { channel, clock, journal } = this.#parts
    const tookMs = clock.monotonic() - startedMonotonic
    journal.record(described(prepared, { handover, channel: channel.name, tookMs }))
  }
}

interface Begin {
  readonly claimed: ClaimedLane
  readonly budgetMs: number
  readonly generation: number
}

class PrepareCall extends BoundedCall<Prepared> {
  constructor(clock: Clock, budgetMs: number) {
    super(clock, budgetMs, TOO_LONG)
  }

  async run(channel: Channel, handover: Handover, journal: Journal): Promise<Prepared> {
    const prepare = async (): Promise<Prepared> => (await channel.prepare?.(handover, this.signal)) ?? { kind: 'ready' }
    const prepared = await this.begin(prepare(), (error) => {
      journal.record({ event: 'fault', where: `channel ${channel.name} prepare`, error })
      return FAULT
    })
    return this.isAborted && prepared.kind === 'failed' ? TOO_LONG : prepared
  }
}

function described(
  prepared: Prepared | null,
  { handover, channel, tookMs }: { readonly handover: Handover; readonly channel: string; readonly tookMs: number },
): JournalEvent {
  const { messageId, connectionId } = handover
  const code = prepared?.kind === 'failed' ? prepared.failure.code : null
  return { event: 'message.prepared', messageId, connectionId, channel, outcome: prepared?.kind ?? 'cut', code, tookMs }
}

function failed(code: ReasonCode, words: string): Prepared {
  return { kind: 'failed', failure: { class: 'transient', code, words, suspectsNetwork: false, retryAfterMs: null } }
}
