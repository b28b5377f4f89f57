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
