const DAY_MS = 86_400_000
// Automatic renewal happens a month before the end. When half of that month is over, it has failed.
const SOON_MS = 14 * DAY_MS

export interface Expiry {
  readonly level: 'fine' | 'soon' | 'over'
  readonly expiresAt: string
  /** Null when all is fine. */
  readonly sentence: string | null
}

/** Pure. Checks the end of a certificate. */
export function checkExpiry({ validToDate }: { readonly validToDate: Date }, now: number): Expiry {
  const expiresAt = validToDate.toISOString()
  const left = validToDate.getTime() - now
  if (left <= 0)
    return {
      level: 'over',
      expiresAt,
      sentence: `The certificate expired at ${expiresAt}: callers refuse to talk to us. Renew it.`,
    }
  if (left > SOON_MS) return { level: 'fine', expiresAt, sentence: null }
  const days = Math.floor(left / DAY_MS)
  return { level: 'soon', expiresAt, sentence: `The certificate expires in ${days} days, at ${expiresAt}. Renew it.` }
}
