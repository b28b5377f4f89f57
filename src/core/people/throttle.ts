import type { Instant } from '../ids.ts'

/**
 * How guessing is slowed down. Nothing is locked for good, because otherwise anyone could lock out the owner of a known e-mail.
 *
 * - `account`: five tries are free, then each waits 1, 2, 4 … 900 seconds after the one before. A browser that its person
 *   has signed in with before counts by itself (`device`), so others' guesses do not slow the person down.
 * - `address`: 30 tries an hour from one network address, over all accounts. People who share the address are not locked out:
 *   an account that was tried at most three times (`account`) may still be tried, and tries of browsers with their own counter
 *   are not counted here.
 * - `minute`: 60 tries a minute from one network address. This bounds the work that they make, not what can be guessed.
 * - `code`: 5 tries in 5 minutes at codes of six digits.
 */
export type ThrottleRule = 'account' | 'device' | WindowRule
type WindowRule = 'address' | 'minute' | 'code'

export interface ThrottledTry {
  /** The key of its counter, such as `account:` and a hash of the e-mail. */
  readonly key: string
  readonly rule: ThrottleRule
}

export interface Tries {
  readonly count: number
  /** When the counting began: with the first try, or for a rule with a window with the first try in it. */
  readonly countedFrom: Instant
  readonly lastAt: Instant
}

const FREE_TRIES = 5
const TRIES_FROM_A_THROTTLED_ADDRESS = 3
const LONGEST_WAIT_MS = 900_000
/** A counter without a try for so long is forgotten. */
export const TRIES_FORGOTTEN_AFTER_MS = 86_400_000

const WINDOWS: Readonly<Record<WindowRule, { readonly most: number; readonly lastsMs: number }>> = {
  address: { most: 30, lastsMs: 3_600_000 },
  minute: { most: 60, lastsMs: 60_000 },
  code: { most: 5, lastsMs: 300_000 },
}

/** The counters after one more try. If it may not be made now: when it may, and then none is counted. */
export function checkTries(
  counters: readonly (ThrottledTry & { readonly tries: Tries | null })[],
  now: Instant,
): { readonly counted: readonly (Tries & { readonly key: string })[] } | { readonly until: Instant } {
  const isFreshAccount = counters.some(
    ({ rule, tries }) =>
      rule === 'account' && (!tries || isForgotten(tries, now) || tries.count < TRIES_FROM_A_THROTTLED_ADDRESS),
  )
  const counted: (Tries & { key: string })[] = []
  let until: Instant | null = null
  for (const { key, rule, tries } of counters) {
    const result = decideAfterTry(rule, tries, now)
    if ('tries' in result) counted.push({ ...result.tries, key })
    else if (rule === 'address' && tries && isFreshAccount)
      // Counted all the same, because a try that succeeds is taken off again.
      counted.push({ ...tries, count: tries.count + 1, lastAt: now, key })
    else until = Math.max(until ?? 0, result.until)
  }
  return until === null ? { counted } : { until }
}

type Result = { readonly tries: Tries } | { readonly until: Instant }

function decideAfterTry(rule: ThrottleRule, tries: Tries | null, now: Instant): Result {
  return rule === 'account' || rule === 'device' ? checkBySteps(tries, now) : checkByWindow(rule, tries, now)
}

function isForgotten(tries: Tries, now: Instant): boolean {
  return now - tries.lastAt >= TRIES_FORGOTTEN_AFTER_MS
}

function checkBySteps(tries: Tries | null, now: Instant): Result {
  if (!tries || isForgotten(tries, now)) return { tries: { count: 1, countedFrom: now, lastAt: now } }
  const until = tries.lastAt + waitAfter(tries.count)
  // A clock that was set back must not make a person wait longer than the longest wait.
  if (until > now && until - now <= LONGEST_WAIT_MS) return { until }
  return { tries: { count: tries.count + 1, countedFrom: tries.countedFrom, lastAt: now } }
}

function waitAfter(count: number): number {
  return count < FREE_TRIES ? 0 : Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** (count - FREE_TRIES))
}

function checkByWindow(rule: WindowRule, tries: Tries | null, now: Instant): Result {
  const { most, lastsMs } = WINDOWS[rule]
  const isOver = !tries || now >= tries.countedFrom + lastsMs || now < tries.countedFrom
  if (isOver) return { tries: { count: 1, countedFrom: now, lastAt: now } }
  if (tries.count >= most) return { until: tries.countedFrom + lastsMs }
  return { tries: { count: tries.count + 1, countedFrom: tries.countedFrom, lastAt: now } }
}
