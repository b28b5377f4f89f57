const EXACT = /(\d{1,2} [A-Z][a-z]{2} \d{4}), (\d{2}:\d{2}:\d{2}) UTC/g
// A time followed by the same time in a number's zone, which says nothing new to a reader in that zone.
const SAME = /\b(\d{2}:\d{2}) \(\1 in [^)]+\)/g
const CLOCK = /\b(\d{2}:\d{2}) UTC/g

interface Reader {
  readonly now: number
  /** Left out: that of the browser. */
  readonly timeZone?: string
}

/** Sentences of the service give times in UTC: "at 14:32 UTC", "on 26 Nov 2026, 14:32:05 UTC". The same by the reader's clock. */
export function inLocalTime(text: string, { now, timeZone }: Reader): string {
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone } as const
  const ofDay = new Intl.DateTimeFormat('en-GB', clock)
  const ofDate = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', ...clock })
  return text
    .replaceAll(EXACT, (found, day: string, time: string) => {
      const at = Date.parse(`${day} ${time} UTC`)
      return Number.isNaN(at) ? found : ofDate.format(at).replace(' at ', ', ')
    })
    .replaceAll(CLOCK, (_, time: string) => {
      // Within a day of now, and a whole day makes no difference to the clock.
      const at = Date.parse(`${new Date(now).toISOString().slice(0, 10)}T${time}:00Z`)
      return ofDay.format(at)
    })
    .replaceAll(SAME, '$1')
}
