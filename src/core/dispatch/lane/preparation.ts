import type { InterruptibleSleep } from '../../interruptible-sleep.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { Channel, Handover, Prepared } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal, JournalEvent } from '../../ports/journal.ts'
import type { WorkerLease } from '../workers/lease.ts'
import { BoundedCall } from './bounded-call.ts'

// During a preparation, the lane checks this often whether it is still wanted, whether or not a notification came.
const CHECK_EVERY_MS = 15_000
// Longer than the least gap of most connections. After it the channel is asked again, which is quick.
const READY_FOR_MS = 60_000

// Both count against the message, or one file that never gets through would hold its lane for ever.
const TOO_LONG = failed('network_error', 'getting it ready took longer than it may')
const FAULT = failed('channel_fault', 'the channel failed in a way it should not')

interface PreparationParts {
  readonly channel: Channel
  readonly clock: Clock
  readonly journal: Journal
  readonly sleeper: InterruptibleSleep
  readonly lease: WorkerLease
}

interface Preparing {
  readonly handover: Handover
  readonly budgetMs: number
  /** The generation of the lease in which the lane was known to be this worker's. */
  readonly generation: number
  /** Reads from storage whether the message is still to be sent, by this worker, from this connection. */
  readonly isWanted: () => Promise<boolean>
}

/**
 * Prepares the head of a lane before its attempt starts. An upload may take minutes, and has no visible effect, so it may be
 * aborted at any time and repeated. Nothing is recorded of it, so a crash during it leaves nothing open (G4).
 */
export class Preparation {
  readonly #parts: PreparationParts
  #running: { readonly call: PrepareCall; readonly generation: number } | null = null
  #isCut = false
  #ready: { readonly sequence: Sequence; readonly untilMonotonic: number } | null = null

  constructor(parts: PreparationParts) {
    this.#parts = parts
  }

  /** True when this message needs no preparation, or had it a short while ago. */
  isReady({ sequence, media }: QueuedMessage): boolean {
    if (media?.kind !== 'ready') return true
    return this.#ready?.sequence === sequence && this.#parts.clock.monotonic() < this.#ready.untilMonotonic
  }

  /** An attempt starts: the next one needs a new preparation. */
  use(): void {
    this.#ready = null
  }

  /** Null when it was aborted: that does not count against the message. */
  async run(sequence: Sequence, { handover, budgetMs, generation, isWanted }: Preparing): Promise<Prepared | null> {
    const { channel, clock, journal, sleeper } = this.#parts
    const call = new PrepareCall(clock, budgetMs)
    this.#running = { call, generation }
    this.#isCut = false
    this.cutIfLeaseLost()
    const beganMonotonic = clock.monotonic()
    if (!this.#isCut) {
      void call.run(channel, handover, journal).then(() => sleeper.interrupt())
      await this.#ended(call, isWanted)
    }
    this.#running = null
    const prepared = this.#endOf(call)
    if (prepared?.kind === 'ready') this.#ready = { sequence, untilMonotonic: clock.monotonic() + READY_FOR_MS }
    journal.record(described(prepared, { handover, channel: channel.name, tookMs: clock.monotonic() - beganMonotonic }))
    return prepared
  }

  #endOf({ prepared, isAborted }: PrepareCall): Prepared | null {
    if (prepared?.kind === 'ready') return prepared
    if (this.#isCut) return null
    return isAborted ? TOO_LONG : prepared
  }

  /** Aborts the running preparation, if any. */
  cut(): void {
    this.#isCut = true
    this.#running?.call.abort()
  }

  /** Another worker may have the lane and prepare the same message: only one of them should. */
  cutIfLeaseLost(): void {
    const { lease } = this.#parts
    if (this.#running && !(lease.isHeld() && lease.generation === this.#running.generation)) this.cut()
  }

  /** Ends a preparation that is overdue or has outlived the lease. */
  sweep(): void {
    this.cutIfLeaseLost()
    this.#running?.call.sweep()
  }

  async #ended(call: PrepareCall, isWanted: () => Promise<boolean>): Promise<void> {
    const { sleeper } = this.#parts
    while (!call.prepared) {
      await sleeper.sleep(CHECK_EVERY_MS)
      if (!call.prepared && !call.isAborted && !(await isWanted())) this.cut()
    }
  }
}

class PrepareCall extends BoundedCall<Prepared> {
  /** Null until it has ended. */
  prepared: Prepared | null = null

  constructor(clock: Clock, budgetMs: number) {
    super(clock, budgetMs, TOO_LONG)
  }

  async run(channel: Channel, handover: Handover, journal: Journal): Promise<void> {
    const prepare = async (): Promise<Prepared> => (await channel.prepare?.(handover, this.signal)) ?? { kind: 'ready' }
    this.prepared = await this.begin(prepare(), (error) => {
      journal.record({ event: 'fault', where: `channel ${channel.name} prepare`, error })
      return FAULT
    })
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

function failed(code: string, words: string): Prepared {
  return { kind: 'failed', failure: { class: 'transient', code, words, suspectsNetwork: false, retryAfterMs: null } }
}
