const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const UNITS = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const
type Unit = keyof typeof UNITS

/** Milliseconds of a text such as `200ms`, `15m` or `1.5h`, or of `0`. Null when it is no such text. */
export function parseDurationMs(text: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s?(ms|s|m|h|d)$/.exec(text.trim())
  if (!match) return text.trim() === '0' ? 0 : null
  return Math.round(Number(match[1]) * UNITS[match[2] as Unit])
}

/** The shortest text that `parseDurationMs` reads back as the same: `90000` → `90s`, `3600000` → `1h`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s'
  const unit = (['d', 'h', 'm', 's'] as const).find((name) => ms >= UNITS[name] && ms % UNITS[name] === 0) ?? 'ms'
  return `${ms / UNITS[unit]}${unit}`
}

/** As people read it, in at most two units: `210 ms`, `4.2 s`, `50 s`, `6 min 12 s`, `20 min`, `3 h 10 min`, `2 d 4 h`. */
export function durationText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.max(0, Math.round(ms))} ms`
  // Whole seconds come from settings: `2 s`, not `2.0 s`.
  if (ms < 10 * SECOND_MS && ms % SECOND_MS > 0) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`
  if (ms < 10 * MINUTE_MS) return twoUnits(ms, [MINUTE_MS, 'min', SECOND_MS, 's'])
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`
  if (ms < DAY_MS) return twoUnits(ms, [HOUR_MS, 'h', MINUTE_MS, 'min'])
  return twoUnits(ms, [DAY_MS, 'd', HOUR_MS, 'h'])
}

/** What something took: below a second as it was measured (`0.6 ms`), else as people read it. */
export function tookText(ms: number): string {
  return ms < SECOND_MS ? `${ms} ms` : durationText(ms)
}

function twoUnits(ms: number, [large, largeName, small, smallName]: readonly [number, string, number, string]): string {
  const rest = Math.floor((ms % large) / small)
  return `${Math.floor(ms / large)} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`
}
