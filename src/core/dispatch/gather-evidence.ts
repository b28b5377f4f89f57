import type { Channel, Evidence, OpenQuestion } from '../ports/channel.ts'
import type { Clock } from '../ports/clock.ts'
import type { Journal } from '../ports/journal.ts'
import { askForEvidence } from './channel-call.ts'
import type { Rest } from './rest.ts'

const FIRST_ASK_AFTER_MS = 250
const SLOWEST_ASK_MS = 5_000

export interface GatherParts {
  readonly channel: Channel
  readonly clock: Clock
  readonly journal: Journal
  readonly rest: Rest
  /** False as soon as the lane is to be left to another. */
  readonly goesOn: () => boolean
}

/**
 * Asks what became of an attempt, ever more slowly, until the channel knows or `forMs` are over; then the last answer
 * counts. Null when the lane is left before: who takes it goes on asking.
 */
export async function gatherEvidence(parts: GatherParts, open: OpenQuestion, forMs: number): Promise<Evidence | null> {
  const { channel, clock, journal, rest, goesOn } = parts
  const endsMonotonic = clock.monotonic() + forMs
  for (let waitMs = FIRST_ASK_AFTER_MS; goesOn(); waitMs = Math.min(waitMs * 2, SLOWEST_ASK_MS)) {
    const evidence = await askForEvidence(channel, open, journal)
    const leftMs = endsMonotonic - clock.monotonic()
    if (evidence.kind !== 'nothing-yet' || leftMs <= 0) return evidence
    await rest.sleep(Math.min(waitMs, leftMs))
  }
  return null
}
