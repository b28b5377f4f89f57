import type { RecordedAttempt } from './ledger-input.ts'

/**
 * Finds two attempts of one connection that were open at the same time (G2). One may begin in the millisecond in which the other
 * ends.
 */
export function findOverlapping(attempts: readonly RecordedAttempt[]): string[] {
  const overlapping: string[] = []
  const longest = new Map<string, RecordedAttempt>()
  for (const attempt of inOrderOfStart(attempts)) {
    const before = longest.get(attempt.connection)
    if (before && attempt.startedAt < endOf(before)) {
      overlapping.push(`${attempt.messageId} began before ${before.messageId} of ${attempt.connection} had ended`)
    }
    if (!before || endOf(attempt) > endOf(before)) longest.set(attempt.connection, attempt)
  }
  return overlapping
}

/** Finds messages that were handed over again although the attempt before was not certainly unsent (G5). */
export function findRepeated(attempts: readonly RecordedAttempt[]): string[] {
  const repeated: string[] = []
  const last = new Map<string, RecordedAttempt>()
  for (const attempt of attempts.toSorted((a, b) => a.number - b.number)) {
    const before = last.get(attempt.messageId)
    if (before && before.outcome !== 'rejected') {
      repeated.push(`${attempt.messageId} was handed over again after an outcome of ${before.outcome ?? 'nothing yet'}`)
    }
    last.set(attempt.messageId, attempt)
  }
  return repeated
}

export function inOrderOfStart(attempts: readonly RecordedAttempt[]): RecordedAttempt[] {
  return attempts.toSorted((a, b) => a.startedAt - b.startedAt || endOf(a) - endOf(b))
}

function endOf(attempt: RecordedAttempt): number {
  return attempt.endedAt ?? Number.POSITIVE_INFINITY
}
