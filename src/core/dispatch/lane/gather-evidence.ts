import type { Instant } from '../../ids.ts'
import type { InterruptibleSleep } from '../../interruptible-sleep.ts'
import type { Channel, Evidence, OpenQuestion, Outcome } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import { discountEvidence, outcomeOf, question, type StartedAttempt } from '../rules/describe-attempt.ts'
import { requestEvidence } from './attempt.ts'

const FIRST_ASK_AFTER_MS = 250
const SLOWEST_ASK_MS = 5_000

interface GatherParts {
  readonly channel: Channel
  readonly clock: Clock
  readonly journal: Journal
  readonly sleeper: InterruptibleSleep
  /** False as soon as the lane is to be left to another. */
  readonly goesOn: () => boolean
}

/** What an attempt whose fate was unknown came to. */
export interface Found {
  readonly outcome: Outcome
  /** The channel was asked, and has no more to say. */
  readonly evidenceRequested: boolean
}

/** Asks once about an attempt whose worker has died. */
export async function requestEvidenceAfterCrash(
  { channel, journal }: Pick<GatherParts, 'channel' | 'journal'>,
  started: StartedAttempt,
): Promise<Found> {
  const evidence = discountEvidence(await requestEvidence(channel, question(started), journal), started)
  const outcome = outcomeOf(evidence, 'the worker died while it was being handed over')
  return { outcome, evidenceRequested: evidence.kind !== 'nothing-yet' }
}

/** Null when the lane is left before; who takes it goes on asking. */
export async function requestEvidenceUntil(
  parts: GatherParts,
  started: StartedAttempt,
  { until, words }: { readonly until: Instant; readonly words: string },
): Promise<Found | null> {
  // Only the end itself is by the time of day, so that setting it back does not make the lane wait for days.
  const forMs = Math.min(until - parts.clock.now(), parts.channel.capabilities.evidenceWaitMs)
  const evidence = await gatherEvidence(parts, question(started), forMs)
  return evidence && { outcome: outcomeOf(discountEvidence(evidence, started), words), evidenceRequested: true }
}

/**
 * Asks what became of an attempt, ever more slowly, until the channel knows or `forMs` are over; then the last answer
 * counts. Null when the lane is left before.
 */
async function gatherEvidence(parts: GatherParts, open: OpenQuestion, forMs: number): Promise<Evidence | null> {
  const { channel, clock, journal, sleeper, goesOn } = parts
  const endsMonotonic = clock.monotonic() + forMs
  for (let waitMs = FIRST_ASK_AFTER_MS; goesOn(); waitMs = Math.min(waitMs * 2, SLOWEST_ASK_MS)) {
    const evidence = await requestEvidence(channel, open, journal)
    const leftMs = endsMonotonic - clock.monotonic()
    if (evidence.kind !== 'nothing-yet' || leftMs <= 0) return evidence
    await sleeper.sleep(Math.min(waitMs, leftMs))
  }
  return null
}
