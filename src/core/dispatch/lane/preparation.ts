import type { InterruptibleSleep } from '../../interruptible-sleep.ts'
import type { QueuedMessage, Sequence } from '../../message/message.ts'
import type { Channel, Handover, Prepared } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal, JournalEvent } from '../../ports/journal.ts'
import type { WorkerLease } from '../workers/lease.ts'
import { BoundedCall } from './bounded-call.ts'

// While something is got ready, the lane looks this often whether it is still wanted, told or not.
const CHECK_EVERY_MS = 15_000
// Long enough for the pace of a connection to pass. The channel answers quickly when it is asked once more.
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
  /** The stretch of the claim in which the lane was seen to be this worker's. */
  readonly generation: number
  /** Looks afresh whether the message is still to be sent, by this worker, from this connection. */
  readonly isWanted: () => Promise<boolean>
}

/**
 * Gets the head of a lane ready before its attempt is opened: what takes minutes has no effect that anybody sees, so it may
 * be cut off at any time and done again. Nothing is recorded of it, so a crash in it leaves nothing open (G4).
 */
export class Preparation {
  readonly #parts: PreparationParts
  #running: { readonly call: PrepareCall; readonly generation: number } | null = null
  #isCut = false
  #ready: { readonly sequence: Sequence; readonly untilMonotonic: number } | null = null

  constructor(parts: PreparationParts) {
    this.#parts = parts
  }

  /** True when nothing is to be got ready for this message, or it was a short while ago. */
  isReady({ sequence, media }: QueuedMessage): boolean {
    if (media?.kind !== 'ready') return true
    return this.#ready?.sequence === sequence && this.#parts.clock.monotonic() < this.#ready.untilMonotonic
  }

  /** An attempt begins: the next one asks anew. */
  use(): void {
    this.#ready = null
  }

  /** Null when it was cut short: then nothing is known, and nothing speaks against the message. */
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

  /** Nobody wants it any more. Harmless when nothing is running. */
  cut(): void {
    this.#isCut = true
    this.#running?.call.abort()
  }

  /** Another worker may have the lane: whoever has it does this, and twice is once too often. */
  cutIfLeaseLost(): void {
    const { lease } = this.#parts
    if (this.#running && !(lease.isHeld() && lease.generation === this.#running.generation)) this.cut()
  }

  /** Ends what is overdue, or goes on after the claim has run out. */
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
