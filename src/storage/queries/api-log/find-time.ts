import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Span } from '../engine.ts'
import { CLOCK_SLACK_MS } from './backward-scan.ts'

export interface TimedHalf {
  /** The first row of the span, by ascending sequence; null when it has none. */
  firstOf(span: Span): Promise<{ readonly sequence: Sequence; readonly at: Instant } | null>
}

/**
 * A place in a half of the log behind everything that came up to this time. Numbers grow with time, so it is found by
 * halving, first among the parts that are stored apart and then in one of them.
 */
export async function placeBehind(half: TimedHalf, spans: readonly Span[], until: Instant): Promise<Sequence> {
  const oldestFirst = spans.toReversed()
  let [from, before] = [0, spans[0]?.before ?? 0]
  for (let [low, high] = [0, oldestFirst.length]; low < high; ) {
    const middle = Math.floor((low + high) / 2)
    const start = oldestFirst[middle]?.from ?? 0
    const first = await half.firstOf({ from: start, before })
    if (first && first.at <= until + CLOCK_SLACK_MS) {
      from = first.sequence + 1
      low = middle + 1
    } else {
      before = Math.min(before, start)
      high = middle
    }
  }
  return halve(half, { from, before }, until)
}

async function halve(half: TimedHalf, span: Span, until: Instant): Promise<Sequence> {
  let { from, before } = span
  while (from < before) {
    const middle = from + Math.floor((before - from) / 2)
    const first = await half.firstOf({ from: middle, before })
    if (first && first.at <= until + CLOCK_SLACK_MS) from = first.sequence + 1
    else before = middle
  }
  return from
}
