import type { Channel, Evidence, Handover, Outcome, StillHolds } from '../ports/channel.ts'
import type { Clock } from '../ports/clock.ts'
import type { Journal } from '../ports/journal.ts'

// How long an aborted call may take to say whether it was sent. After that its fate counts as unknown.
const GRACE_MS = 1_000

/**
 * One call to a channel that always comes to an end, whatever the channel does. `sweep` ends what is overdue: one
 * sweep over all running calls is much cheaper than a timer for each.
 */
export class ChannelCall {
  readonly #abort = new AbortController()
  readonly #clock: Clock
  readonly #endsMonotonic: number
  readonly #stillHolds: StillHolds
  #finish: ((outcome: Outcome) => void) | null = null
  #abortedMonotonic: number | null = null

  constructor(clock: Clock, budgetMs: number, stillHolds: StillHolds) {
    this.#clock = clock
    this.#stillHolds = stillHolds
    this.#endsMonotonic = clock.monotonic() + budgetMs
  }

  run(channel: Channel, handover: Handover, journal: Journal): Promise<Outcome> {
    return new Promise<Outcome>((resolve) => {
      this.#finish = resolve
      channel.send(handover, this.#abort.signal, this.#stillHolds).then(resolve, (error: unknown) => {
        journal.record({ event: 'fault', where: `channel ${channel.name} send`, error })
        // It may have been sent before it threw.
        resolve({ kind: 'unknown', words: 'the channel failed in a way it should not' })
      })
    })
  }

  /** Asks the channel to stop, because the worker no longer holds the lane. */
  abort(): void {
    this.#abortedMonotonic ??= this.#clock.monotonic()
    this.#abort.abort()
  }

  /** Looks whether the call is overdue. */
  sweep(): void {
    const now = this.#clock.monotonic()
    if (this.#abortedMonotonic === null) {
      if (now >= this.#endsMonotonic) this.abort()
    } else if (now >= this.#abortedMonotonic + GRACE_MS) {
      this.#finish?.({ kind: 'unknown', words: 'the call to the channel took longer than it may' })
    }
  }
}

/** Asks a channel for evidence; a channel that fails in it has none yet. */
export async function askForEvidence(
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
