import type { LinkKind } from '../ports/console/people.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * A session ends after half an hour without use, and after a day's work. A person who stays signed in has said that the device
 * is theirs alone.
 */
export const SESSION_LASTS = {
  usual: { idleMs: 30 * MINUTE_MS, mostMs: 12 * HOUR_MS },
  kept: { idleMs: 14 * DAY_MS, mostMs: 30 * DAY_MS },
} as const

/** Browsers keep a cookie no longer than this. */
export const DEVICE_KNOWN_FOR_MS = 400 * DAY_MS

/** Long enough to create a token and read the notes about it, short enough that an unattended browser cannot grant rights. */
export const STEP_UP_LASTS_MS = 5 * MINUTE_MS

/** From the password to the second factor: long enough to fetch a phone from another room. */
export const SECOND_STEP_LASTS_MS = 5 * MINUTE_MS

/** From the challenge of a passkey to its answer. */
export const PASSKEY_ANSWER_WITHIN_MS = 5 * MINUTE_MS

/** A set-up or a reset is done at once; an invited person may be away for some days. Each link works once. */
export const LINK_LASTS_MS: Readonly<Record<LinkKind, number>> = {
  'set-up': HOUR_MS,
  invitation: 7 * DAY_MS,
  'reset-password': HOUR_MS,
}
