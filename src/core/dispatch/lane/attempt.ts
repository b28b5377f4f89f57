import type { Channel, Evidence, Handover, Outcome, StillHolds } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import { BoundedCall } from './bounded-call.ts'

/** One attempt at the channel. */
export class ChannelCall extends BoundedCall<Outcome> {
  readonly #stillHolds: StillHolds

  constructor(clock: Clock, budgetMs: number, stillHolds: StillHolds) {
    super(clock, budgetMs, { kind: 'unknown', words: 'the call to the channel took longer than it may' })
    this.#stillHolds = stillHolds
  }

  run(channel: Channel, handover: Handover, journal: Journal): Promise<Outcome> {
    return this.begin(channel.send(handover, this.signal, this.#stillHolds), (error) => {
      journal.record({ event: 'fault', where: `channel ${channel.name} send`, error })
      // It may have been sent before it threw.
      return { kind: 'unknown', words: 'the channel failed in a way it should not' }
    })
  }
}

/** Asks a channel for evidence. A channel that throws has none yet. */
export async function requestEvidence(
  channel: Channel,
  open: Parameters<Channel['reconcile']>[0],
  journal: Journal,
): Promise<Evidence> {
  try {
    return await channel.reconcile(open)
  } catch (error) {
    journal.record({ event: 'fault', where: `channel ${channel.name} reconcile`, error })
    return { kind: 'nothing-yet' }
  }
}
