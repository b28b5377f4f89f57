import type { Instant } from '../ids.ts'
import type { RetryState } from './message.ts'

/** What a message itself waited for, as the timeline keeps it. */
export interface OwnWaitFacts {
  /** A code of core/reasons.ts. */
  readonly waitedFor: string
  readonly waitedSince: Instant
  /** The planned end. The message may have left its lane earlier. */
  readonly waitedUntil: Instant
}

/** Null: it waited for nothing of its own, or for its next try, which follows from its attempts. */
export function ownWaitFacts(retry: RetryState | null): OwnWaitFacts | null {
  const wait = retry?.wait
  if (!wait || wait.kind === 'retry') return null
  return { waitedFor: wait.reason, waitedSince: wait.since, waitedUntil: wait.until }
}

/** Reads such a wait from the facts of a timeline entry. */
export function readOwnWait(facts: Partial<Readonly<Record<keyof OwnWaitFacts, unknown>>>): OwnWaitFacts | null {
  const { waitedFor, waitedSince, waitedUntil } = facts
  if (typeof waitedFor !== 'string' || typeof waitedSince !== 'number' || typeof waitedUntil !== 'number') return null
  return { waitedFor, waitedSince, waitedUntil }
}
