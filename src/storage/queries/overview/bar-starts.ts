import type { Instant } from '../../../core/ids.ts'
import type { WantedOverview } from '../../../core/ports/console/overview.ts'
import { HOUR_MS, MINUTE_MS } from './hours.ts'

type Reader = Pick<WantedOverview, 'timeZone' | 'offsetMinutes'>

/** When the bars begin, oldest first: the last `count` up to now, whole hours or days by the reader's clock. */
export function barStarts(reader: Reader, { now, barMs, count }: { now: Instant; barMs: number; count: number }) {
  const offsetAt = offsetOf(reader)
  const starts: Instant[] = []
  for (let at = now; starts.length < count; at = (starts[0] ?? at) - 1) starts.unshift(startOf(at, barMs, offsetAt))
  return starts
}

function startOf(at: Instant, barMs: number, offsetAt: (at: Instant) => number): Instant {
  const offset = offsetAt(at)
  const start = at - ((((at + offset) % barMs) + barMs) % barMs)
  // The clocks may have been set in between: at its beginning they stood otherwise.
  return Math.min(at, start + offset - offsetAt(start))
}

/**
 * The offset of the reader's time zone from UTC. Tallies are by the hour of UTC, so in a zone with an offset of half an hour
 * bars begin at the nearest hour. For a zone that this machine does not know, today's offset applies to all times.
 */
function offsetOf({ timeZone, offsetMinutes }: Reader): (at: Instant) => number {
  const inHours = (minutes: number) => Math.floor(minutes / 60) * HOUR_MS
  const clock = clockOf(timeZone)
  if (clock === null) return () => inHours(offsetMinutes)
  return (at) => {
    const part = (type: string) => Number(parts.find((one) => one.type === type)?.value)
    const parts = clock.formatToParts(at)
    const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'))
    return inHours(Math.round((shown - (at - (at % MINUTE_MS))) / MINUTE_MS))
  }
}

function clockOf(timeZone: string | null): Intl.DateTimeFormat | null {
  if (timeZone === null) return null
  try {
    const digits = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const
    return new Intl.DateTimeFormat('en-GB', { timeZone, ...digits, hourCycle: 'h23' })
  } catch {
    return null
  }
}
