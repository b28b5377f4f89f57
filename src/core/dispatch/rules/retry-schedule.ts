import type { RetryState } from '../../message/message.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** The state of a message that never failed. */
export const NOTHING_RETRIED: RetryState = { tries: 0, resent: false, crashes: 0, wait: null }

/** After this many failures a message is given up. The eight waits between them take a quarter of an hour. */
export const MOST_TRIES = 9
/** Waits after the first, second, … transient failure of one message; the last one repeats. */
const MESSAGE_DELAYS_MS = [1, 5, 15, 30, 60, 120, 300].map((seconds) => seconds * SECOND)
const CONNECTION_FIRST_MS = 5 * SECOND
const CONNECTION_MOST_MS = 5 * MINUTE
/** A network cannot make a lane wait longer than this. */
export const RETRY_AFTER_MOST_MS = 60 * MINUTE
/** Nor can it make us retry without a pause. */
const RETRY_AFTER_LEAST_MS = 1_000
// Without it, all lanes that failed together would come back together, and fail together again.
const JITTER = 0.2

/** How long a message waits after its `tries`-th transient failure, in milliseconds. `jitter` is in [0, 1). */
export function messageDelayMs(tries: number, retryAfterMs: number | null, jitter: number): number {
  if (retryAfterMs !== null) return within(retryAfterMs)
  const base = MESSAGE_DELAYS_MS[Math.min(tries, MESSAGE_DELAYS_MS.length) - 1] ?? CONNECTION_FIRST_MS
  return jittered(base, jitter)
}

/** How long a lane waits after its connection's `failures`-th failure in a row, in milliseconds. */
export function connectionDelayMs(failures: number, retryAfterMs: number | null, jitter: number): number {
  if (retryAfterMs !== null) return within(retryAfterMs)
  return jittered(Math.min(CONNECTION_FIRST_MS * 2 ** Math.min(failures - 1, 20), CONNECTION_MOST_MS), jitter)
}

/** The wait that the network asked for, within these bounds. */
function within(retryAfterMs: number): number {
  return Math.min(Math.max(retryAfterMs, RETRY_AFTER_LEAST_MS), RETRY_AFTER_MOST_MS)
}

function jittered(baseMs: number, jitter: number): number {
  return Math.round(baseMs * (1 - JITTER + 2 * JITTER * jitter))
}
