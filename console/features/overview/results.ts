import type { OverviewRange, OverviewReply } from '../../../src/contract/console/overview.ts'
import { dayAndClock } from '../../components/instants.ts'

export const RANGES: readonly { readonly value: OverviewRange; readonly label: string; readonly words: string }[] = [
  { value: '1h', label: '1 h', words: 'in the last hour' },
  { value: '24h', label: '24 h', words: 'in the last 24 hours' },
  { value: '7d', label: '7 d', words: 'in the last 7 days' },
  { value: '30d', label: '30 d', words: 'in the last 30 days' },
]

type Bar = OverviewReply['bars'][number]
export type Result = Exclude<keyof Bar, 'at'>

/** From the bottom of a bar upwards. Good results are at the bottom, so that problems stand out at the top. */
export const RESULTS: readonly { readonly key: Result; readonly word: string }[] = [
  { key: 'published', word: 'Sent' },
  { key: 'waiting', word: 'Waiting' },
  { key: 'cancelled', word: 'Cancelled' },
  { key: 'unconfirmed', word: 'Unconfirmed' },
  { key: 'expired', word: 'Expired' },
  { key: 'failed', word: 'Failed' },
  { key: 'refused', word: 'Refused' },
]

/** What was sent, and of the others those with a count. */
export function shownResults(totals: OverviewReply['totals']): readonly (typeof RESULTS)[number][] {
  return RESULTS.filter(({ key }) => key === 'published' || totals[key] > 0)
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

const DAY_MS = 86_400_000

/** The label of the bar that begins at this time. */
export function barName(at: number, { range, barMs }: Pick<OverviewReply, 'range' | 'barMs'>): string {
  if (barMs >= DAY_MS) return day.format(at)
  return (range === '7d' ? dayAndClock : clock).format(at)
}

/** The log filter of a bar: up to the next bar, because a day on which the clocks change has another length. */
export function logOf(at: number, { bars, barMs }: Pick<OverviewReply, 'bars' | 'barMs'>) {
  const next = bars.find((bar) => bar.at > at)
  return { result: 'all', since: at, until: (next?.at ?? at + barMs) - 1 }
}

export function numberText(count: number): string {
  return count.toLocaleString('en')
}

/** "95.9 %". */
export function shareText(part: number, whole: number): string {
  return `${((part / whole) * 100).toLocaleString('en', { maximumFractionDigits: 1 })} %`
}

export function isNothing(totals: OverviewReply['totals']): boolean {
  return totals.accepted === 0 && totals.refused === 0
}
