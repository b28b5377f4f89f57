/** Waits that only a person can end. */
export const NEEDS_PERSON: ReadonlySet<string> = new Set([
  ...['paused', 'backlog_confirmation', 'credentials_refused', 'secret_unreadable'],
  ...['database_went_back', 'service_stopped', 'storage_unavailable', 'channel_not_installed', 'bridge_url_blocked'],
  ...['device_unlinked', 'session_taken', 'session_unreadable', 'number_banned'],
  ...['whatsapp_0', 'whatsapp_3', 'whatsapp_10', 'whatsapp_33', 'whatsapp_190', 'whatsapp_200', 'whatsapp_368'],
  ...['whatsapp_131005', 'whatsapp_131031', 'whatsapp_131037', 'whatsapp_131042', 'whatsapp_131045'],
  ...['whatsapp_131048', 'whatsapp_131064', 'whatsapp_133000', 'whatsapp_133005', 'whatsapp_133006'],
  ...['whatsapp_133008', 'whatsapp_133009', 'whatsapp_133010', 'whatsapp_133015', 'whatsapp_133016'],
])

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
