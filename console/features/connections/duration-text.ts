import { z } from 'zod'

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof UNITS

/** The same grammar as at the command line: `200ms`, `15m`, `1.5h`. Null: invalid. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s?(ms|s|m|h|d)$/.exec(text.trim())
  if (!match) return text.trim() === '0' ? 0 : null
  return Math.round(Number(match[1]) * UNITS[match[2] as Unit])
}

export function writeDuration(ms: number): string {
  if (ms === 0) return '0s'
  const unit = (['d', 'h', 'm', 's'] as const).find((name) => ms >= UNITS[name] && ms % UNITS[name] === 0) ?? 'ms'
  return `${ms / UNITS[unit]}${unit}`
}

/** A field for a duration within these limits. */
export function durationField({ least, most }: { readonly least: number; readonly most: number }) {
  const sentence = `Write a time from ${writeDuration(least)} to ${writeDuration(most)}, such as 500ms, 30s, 15m or 24h.`
  return z.string().refine((text) => {
    const ms = parseDuration(text)
    return ms !== null && ms >= least && ms <= most
  }, sentence)
}
