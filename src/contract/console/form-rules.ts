import type { OneLineRule } from '../../format/one-line.ts'

// Rules of both the command line and the console. Without zod, because loading it would double the time of a short command.

const HOUR_MS = 3_600_000
const EMAIL_MAX_CHARACTERS = 254
// As browsers check it: https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address
const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

export const BLOCK_REASON: OneLineRule = { what: 'The reason', most: 500, mayBeEmpty: true }
export const CONNECTION_NAME: OneLineRule = { what: 'The name of a connection', most: 60, mayBeEmpty: true }
export const WEBHOOK_DESCRIPTION: OneLineRule = { what: 'The description', most: 120, mayBeEmpty: true }

/** What is wrong with an e-mail address, which is trimmed already. Null: nothing. */
export function findEmailFault(text: string): string | null {
  if (text.length > EMAIL_MAX_CHARACTERS) return `An e-mail address has at most ${EMAIL_MAX_CHARACTERS} characters.`
  if (EMAIL.test(text)) return null
  return 'This is no e-mail address: it needs a name, an @ and a domain, in plain letters.'
}

/** What is wrong with a password that is typed to sign in. Null: nothing. */
export function findPasswordFault(text: string): string | null {
  if (text === '') return 'Enter your password.'
  return text.length > 1_024 ? 'This password is too long.' : null
}

/** What is wrong with a code that is typed to sign in, which is trimmed already. Null: nothing. */
export function findCodeFault(text: string): string | null {
  if (text === '') return 'Enter the code.'
  return text.length > 64 ? 'This is no code.' : null
}

/** The limits of a lane's times in milliseconds, at the command line and in the console. */
export const LANE_LIMITS = {
  timeToLiveMs: { least: 1_000, most: 30 * 24 * HOUR_MS },
  leastGapMs: { least: 0, most: 24 * HOUR_MS },
  gapJitterMs: { least: 0, most: 24 * HOUR_MS },
  confirmBacklogAfterMs: { least: 0, most: 30 * 24 * HOUR_MS },
} as const

/** `22:00`, by a clock of 24 hours. */
export const TIME_OF_DAY = /^(?:[01]\d|2[0-3]):[0-5]\d$/

/** Whether this machine knows a time zone of this name, such as Europe/Berlin. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
