import type { LogCounts } from '../../../src/contract/console/log.ts'
import { dayAndClock } from '../../components/instants.ts'

type Bars = Pick<LogCounts, 'bars' | 'barMs'>

/** The first and the last bar, in the order in which they were chosen. */
export type BarRange = readonly [number, number]

export function inOrder([one, other]: BarRange): BarRange {
  return [Math.min(one, other), Math.max(one, other)]
}

/** The time of these bars, both ends included. */
export function spanOf(range: BarRange, { bars, barMs }: Bars): { since: number; until: number } {
  const [from, to] = inOrder(range)
  return { since: bars[from]?.at ?? 0, until: (bars[to]?.at ?? 0) + barMs - 1 }
}

/** "27 Nov, 14:30 to 27 Nov, 15:00". */
export function spanText(range: BarRange, counts: Bars): string {
  const { since, until } = spanOf(range, counts)
  return `${dayAndClock.format(since)} to ${dayAndClock.format(until + 1)}`
}

type Bar = Bars['bars'][number]

const WORDS: readonly { readonly keys: readonly (keyof Bar)[]; readonly word: string }[] = [
  { keys: ['published'], word: 'sent' },
  { keys: ['waiting'], word: 'waiting' },
  { keys: ['cancelled'], word: 'cancelled' },
  { keys: ['unconfirmed'], word: 'unconfirmed' },
  { keys: ['failed', 'expired'], word: 'failed or expired' },
  { keys: ['refused'], word: 'refused' },
]

/** "Nov 27, 14:30: 52 sent, 3 failed or expired". */
export function barText(bar: Bar, barMs: number): string {
  const parts = WORDS.flatMap(({ keys, word }) => {
    const count = keys.reduce((sum, key) => sum + bar[key], 0)
    return count === 0 ? [] : [`${count.toLocaleString('en')} ${word}`]
  })
  return `${spanText([0, 0], { bars: [bar], barMs })}: ${parts.length === 0 ? 'no requests' : parts.join(', ')}`
}
