const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

// In English like every text of the console, with the day before the month as in the sentences of the service.
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' })
const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
/** "25 Nov, 14:32". */
export const dayAndClock = new Intl.DateTimeFormat('en-GB', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const longDay = new Intl.DateTimeFormat('en-GB', { weekday: 'long', month: 'short', day: 'numeric' })
const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

/** "5 min. ago" or "in 3 hr." within a day of now, else the local date. */
export function nearOrDate(at: number, now: number): string {
  const distance = at - now
  const size = Math.abs(distance)
  if (size >= DAY_MS) return dateAndTime.format(at)
  if (size < 5_000) return 'just now'
  if (size < MINUTE_MS) return relative.format(Math.trunc(distance / 1_000), 'second')
  if (size < HOUR_MS) return relative.format(Math.trunc(distance / MINUTE_MS), 'minute')
  return relative.format(Math.trunc(distance / HOUR_MS), 'hour')
}

export function localDateTime(at: number): string {
  return dateAndTime.format(at)
}

export function localClock(at: number): string {
  return clock.format(at)
}

/** "14:32:09" today, else "25 Nov, 14:32". */
export function clockOrDate(at: number, now: number): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString()
  return isToday ? clock.format(at) : dayAndClock.format(at)
}

/** An estimated time: "14:32:09" within ten minutes, then "14:32", and from tomorrow on "25 Nov, 14:32". */
export function estimateText(at: number, now: number): string {
  const text = clockOrDate(at, now)
  return at - now < 10 * MINUTE_MS ? text : text.replace(/(:\d\d):\d\d$/, '$1')
}

/** "Today", "Yesterday", else "Wednesday 25 Nov". */
export function dayText(at: number, now: number): string {
  const day = new Date(at).toDateString()
  if (day === new Date(now).toDateString()) return 'Today'
  const yesterday = new Date(now)
  yesterday.setDate(yesterday.getDate() - 1)
  return day === yesterday.toDateString() ? 'Yesterday' : longDay.format(at)
}

/** Local, to the millisecond, with its distance from UTC: "2026-11-21 18:04:05.123 +01:00". */
export function exactLocal(at: number): string {
  const offsetMinutes = -new Date(at).getTimezoneOffset()
  const local = new Date(at + offsetMinutes * MINUTE_MS).toISOString().slice(0, -1).replace('T', ' ')
  const hours = String(Math.trunc(Math.abs(offsetMinutes) / 60)).padStart(2, '0')
  const minutes = String(Math.abs(offsetMinutes) % 60).padStart(2, '0')
  return `${local} ${offsetMinutes < 0 ? '-' : '+'}${hours}:${minutes}`
}
