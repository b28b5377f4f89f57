/** Waits for something to happen: their end is when the waiting is given up, not when the next try comes. */
const ENDS_AT_LATEST: ReadonlySet<string> = new Set(['media_uploading', 'awaiting_evidence'])

/** What is said behind the end of a wait for this reason, where it is not the end itself. */
export function endNote(reason: string): string {
  if (ENDS_AT_LATEST.has(reason)) return ' at the latest'
  // Then the file is asked for once more.
  return reason === 'media_pending' ? ' at the earliest' : ''
}
