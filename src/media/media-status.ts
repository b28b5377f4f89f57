import { STATUS_CODES } from 'node:http'
import { MediaProblem } from './media-problem.ts'

/** Keeps absurd values from the callers, which wait no longer than they themselves allow. */
export const MAX_RETRY_AFTER_MS = 3_600_000

const PASSING_CLIENT_ERRORS: readonly number[] = [408, 425, 429]

interface StatusFacts {
  /** The host that answered. */
  readonly host: string
  readonly status: number
  readonly retryAfter: string | null
  /** The host's own clock, against which it wrote a date into `Retry-After`. */
  readonly date: string | null
}

/** Checks a status that is no redirect. Returns the problem, or null when a file follows. */
export function checkStatus({ host, status, retryAfter, date }: StatusFacts): MediaProblem | null {
  if (status === 200 || status === 203) return null
  // 202: the file is being made.
  const mayPass = status >= 500 || status === 202 || PASSING_CLIENT_ERRORS.includes(status)
  return new MediaProblem('media_status', `${host} ${statusWords(status)}`, {
    mayPass,
    retryAfterMs: mayPass ? parseRetryAfter(retryAfter, date) : null,
  })
}

/** core/reasons/media.ts finds the next step by the status in these words. */
function statusWords(status: number): string {
  if (status === 202) return 'answered 202: it is still making the file.'
  if (status < 400) return `answered ${status}, which holds no file.`
  if (status === 401) return 'answered 401 (sign-in needed).'
  if (status === 403) return 'answered 403 (forbidden): the link needs sign-in or has run out.'
  if (status === 410) return 'answered 410 (gone): the file was removed.'
  const name = STATUS_CODES[status]?.toLowerCase()
  return `answered ${status}${name ? ` (${name})` : ''}.`
}

/**
 * Reads `Retry-After` as milliseconds, at most an hour; null when absent or malformed. A date counts from the `Date` of
 * the same response, so that neither clock need be right.
 */
export function parseRetryAfter(retryAfter: string | null, date: string | null): number | null {
  if (retryAfter === null) return null
  const text = retryAfter.trim()
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : parseHttpDate(text) - parseHttpDate(date?.trim() ?? '')
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS)
}

/** NaN unless the text is a date as HTTP writes it: `Date.parse` alone takes "1" for a year. */
function parseHttpDate(text: string): number {
  return /^[A-Z][a-z]{2,8},? .*GMT$/.test(text) ? Date.parse(text) : Number.NaN
}
