/** Waits for something to happen: their end is when the waiting is given up, not when the next try comes. */
const ENDS_AT_LATEST: ReadonlySet<string> = new Set(['media_pending', 'media_uploading', 'awaiting_evidence'])

/** Whether the end of a wait for this reason is no more than the latest that it may be. */
export function endsAtLatest(reason: string): boolean {
  return ENDS_AT_LATEST.has(reason)
}
