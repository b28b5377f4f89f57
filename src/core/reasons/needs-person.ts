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
