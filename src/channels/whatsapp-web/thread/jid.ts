/** The number, or WhatsApp's own id, of an address such as `15551230001:2@s.whatsapp.net`. */
export function userOf(jid: string): string {
  return jid.split(/[:@]/)[0] ?? ''
}

/** The number of the device; 0 is the phone. */
export function deviceOf(jid: string): number {
  return Number(/:(\d+)@/.exec(jid)?.[1] ?? 0)
}
