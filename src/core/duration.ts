import type { Instant } from './ids.ts'

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof UNITS

/** Milliseconds of a text such as `200ms`, `15m` or `1.5h`. Null when it is no such text. */
export function parseDurationMs(text: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text.trim())
  if (!match) return null
  return Math.round(Number(match[1]) * UNITS[match[2] as Unit])
}

/** The shortest text that `parseDurationMs` reads back as the same: `90000` → `90s`, `3600000` → `1h`. */
export function formatDuration(ms: number): string {
  const unit = (['d', 'h', 'm', 's'] as const).find((name) => ms >= UNITS[name] && ms % UNITS[name] === 0) ?? 'ms'
  return `${ms / UNITS[unit]}${unit}`
}

/** Such as `26 Nov 2026, 04:19:57 UTC`. Its digits are not taken for those of a phone number. */
export function instantText(at: Instant): string {
  const text = new Date(at).toUTCString()
  return `${text.slice(5, 16)}, ${text.slice(17, 25)} UTC`
}
