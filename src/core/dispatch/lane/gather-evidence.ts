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
  /** False once the lane is ending. */
  readonly goesOn: () => boolean
}

/** The outcome of an attempt whose result was unknown. */
export interface Found {
  readonly outcome: Outcome
  /** The channel was asked, and will not say more: it gave evidence, or there will never be any. */
  readonly isEvidenceFinal: boolean
}

/** Asks once about an attempt whose worker has died. */
export async function requestEvidenceAfterCrash(
  { channel, journal }: Pick<GatherParts, 'channel' | 'journal'>,
  started: StartedAttempt,
): Promise<Found> {
  const evidence = discountEvidence(await requestEvidence(channel, question(started), journal), started)
  const outcome = outcomeOf(evidence, 'the worker died while it was being handed over')
  return { outcome, isEvidenceFinal: evidence.kind !== 'nothing-yet' }
}

/** Null when the lane ends first; the next worker goes on asking. */
export async function requestEvidenceUntil(
  parts: GatherParts,
  started: StartedAttempt,
  { until, words, mostMs }: { readonly until: Instant; readonly words: string; readonly mostMs: number },
): Promise<Found | null> {
  // The wait is measured by the monotonic clock, so setting the wall clock back does not make the lane wait for days.
  const forMs = Math.min(until - parts.clock.now(), mostMs)
  const evidence = await gatherEvidence(parts, question(started), forMs)
  return evidence && { outcome: outcomeOf(discountEvidence(evidence, started), words), isEvidenceFinal: true }
}

/**
 * Asks for the result of an attempt, with growing pauses, until the channel knows it or `forMs` have passed; then the last
 * answer counts. Null when the lane ends first.
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
