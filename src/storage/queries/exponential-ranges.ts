import type { Span } from './engine.ts'

const MOST_SPANS_AT_ONCE = 32

export interface Range extends Span {
  readonly limit: number
}

/** Joins ever more spans into one range: most searches end in the first, and many of the others may hold nothing. */
export function* exponentialRanges(spans: readonly Span[]): Generator<Span> {
  let count = 1
  for (let at = 0; at < spans.length; at += count, count = Math.min(count * 2, MOST_SPANS_AT_ONCE)) {
    const together = spans.slice(at, at + count)
    yield { from: together.at(-1)?.from ?? 0, before: together[0]?.before ?? 0 }
  }
}
