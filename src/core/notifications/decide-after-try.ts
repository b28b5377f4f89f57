import type { Instant } from '../ids.ts'
import type { PostEnd } from '../ports/guarded-post.ts'
import type { TryCode } from './delivery-try-codes.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Waits after the first, second, … failed try: more than a day in all, so that a receiver may be down over night. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
]
export const MOST_TRIES = RETRY_DELAYS_MS.length + 1
/** About when a delivery is given up that was tried so often and keeps failing. */
export function givenUpAt({ tries, nextTryAt }: { readonly tries: number; readonly nextTryAt: Instant }): Instant {
  return RETRY_DELAYS_MS.slice(tries).reduce((at, delayMs) => at + delayMs, nextTryAt)
}

/** The longest wait that a receiver can ask for. */
const MOST_RETRY_AFTER_MS = HOUR
// Without it, deliveries that failed together would be tried again together.
const JITTER = 0.2

type AfterTry =
  | { readonly do: 'done' }
  | { readonly do: 'retry'; readonly at: Instant }
  | { readonly do: 'give-up' }
  /** The receiver wants no more deliveries, neither this one nor others. */
  | { readonly do: 'disable' }

export interface CheckedTry {
  readonly code: TryCode
  readonly status: number | null
  readonly words: string | null
  readonly excerpt: string | null
  readonly next: AfterTry
}

/** The result of a try. `number` counts from 1, `jitter` is in [0, 1). */
export function decideAfterTry(
  end: PostEnd,
  { number, now, jitter }: { readonly number: number; readonly now: Instant; readonly jitter: number },
): CheckedTry {
  const code = codeOf(end)
  const said =
    end.kind === 'answered'
      ? { status: end.status, words: null, excerpt: end.excerpt === '' ? null : end.excerpt }
      : { status: null, words: end.words, excerpt: null }
  if (code === 'delivered') return { ...said, code, next: { do: 'done' } }
  if (code === 'gone') return { ...said, code, next: { do: 'disable' } }
  const delayMs = RETRY_DELAYS_MS[number - 1]
  if (delayMs === undefined) return { ...said, code, next: { do: 'give-up' } }
  const jittered = Math.round(delayMs * (1 - JITTER + 2 * JITTER * jitter))
  const asked = end.kind === 'answered' ? (end.retryAfterMs ?? 0) : 0
  // What the receiver asks for only ever makes us wait longer: “at once” is no reason to hurry.
  return { ...said, code, next: { do: 'retry', at: now + Math.max(jittered, Math.min(asked, MOST_RETRY_AFTER_MS)) } }
}

function codeOf(end: PostEnd): TryCode {
  if (end.kind === 'failed') return end.code
  if (end.status >= 200 && end.status < 300) return 'delivered'
  if (end.status === 410) return 'gone'
  return end.status >= 300 && end.status < 400 ? 'redirected' : 'refused_status'
}
