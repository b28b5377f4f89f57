/** The number, or WhatsApp's own id, of an address such as `15551230001:2@s.whatsapp.net`. */
export function userOf(jid: string): string {
  return jid.split(/[:@]/)[0] ?? ''
}
