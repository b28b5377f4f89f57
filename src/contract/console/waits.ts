export { NEEDS_PERSON } from '../../core/reasons/needs-person.ts'

/** Waits for an event: their end is a timeout, not the time of the next try. */
const ENDS_AT_LATEST: ReadonlySet<string> = new Set(['media_uploading', 'awaiting_evidence'])

/** Added after the end of a wait for this reason, if the wait may end at another time. */
export function endNote(reason: string): string {
  if (ENDS_AT_LATEST.has(reason)) return ' at the latest'
  // The file is requested again at that time.
  return reason === 'media_pending' ? ' at the earliest' : ''
}

// The times of a page stand still for so long.
const ANY_MOMENT_MS = 5_000

/** It is tried about now. A time would say that it is awaited. */
export function isAnyMoment(until: number, now: number): boolean {
  return until - now < ANY_MOMENT_MS
}
