/** What the channel is called in settings, paths, the log and storage. */
export const WHATSAPP_WEB = 'whatsapp-web'
