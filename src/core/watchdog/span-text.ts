const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** How long something takes, as people say it: `50 s`, `6 min`, `2 h 5 min`, `3 days`. */
export function spanText(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / SECOND_MS))} s`
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`
  if (ms < 2 * DAY_MS) {
    const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS)
    return `${Math.floor(ms / HOUR_MS)} h${minutes === 0 ? '' : ` ${minutes} min`}`
  }
  return `${Math.floor(ms / DAY_MS)} days`
}
