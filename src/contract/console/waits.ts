/** Waits for an event: their end is a timeout, not the time of the next try. */
const ENDS_AT_LATEST: ReadonlySet<string> = new Set(['media_uploading', 'awaiting_evidence'])

/** Added after the end of a wait for this reason, if the wait may end at another time. */
export function endNote(reason: string): string {
  if (ENDS_AT_LATEST.has(reason)) return ' at the latest'
  // The file is requested again at that time.
  return reason === 'media_pending' ? ' at the earliest' : ''
}
