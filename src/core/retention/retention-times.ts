import { counted } from '../../format/counted.ts'

/** Days; 0 keeps for ever. The defaults are settings; `plan-sweep.ts` decides what is deleted, `retention-job.ts` when. */
export interface RetentionTimes {
  /** Texts, captions, URLs and file names. */
  readonly bodiesDays: number
  /** Messages with their timelines and notifications, and requests. */
  readonly messagesDays: number
}

/** The times that an account has chosen for itself; null: those of the installation. */
export interface OwnTimes {
  readonly bodiesDays: number | null
  readonly messagesDays: number | null
}

export const NO_OWN_TIMES: OwnTimes = { bodiesDays: null, messagesDays: null }

// The overview recounts the last nine days from the messages. Those deleted earlier would be missing in its figures.
export const LEAST_MESSAGES_DAYS = 10
export const LEAST_BODIES_DAYS = 1
export const MOST_DAYS = 3_650

export function isLonger(days: number, than: number): boolean {
  return than !== 0 && (days === 0 || days > than)
}

function shorter(one: number, other: number): number {
  return isLonger(one, other) ? other : one
}

/** The times that hold for an account. No body outlives its message. */
export function timesOf(installation: RetentionTimes, own: OwnTimes): RetentionTimes {
  const messagesDays = shorter(installation.messagesDays, own.messagesDays ?? installation.messagesDays)
  const bodiesDays = shorter(installation.bodiesDays, own.bodiesDays ?? installation.bodiesDays)
  return { messagesDays, bodiesDays: shorter(bodiesDays, messagesDays) }
}

export function daysText(days: number): string {
  if (days === 0) return 'for ever'
  return counted(days, 'day')
}

/** Why an account cannot have these times, a sentence for each; null when it can. */
export function checkOwnTimes(own: OwnTimes, installation: RetentionTimes): string | null {
  const { bodiesDays, messagesDays } = own
  const wrong = [
    wrongDays('Texts', { days: bodiesDays, least: LEAST_BODIES_DAYS, most: installation.bodiesDays }),
    wrongDays('Messages', { days: messagesDays, least: LEAST_MESSAGES_DAYS, most: installation.messagesDays }),
  ].filter((sentence) => sentence !== null)
  if (wrong.length > 0) return wrong.join(' ')
  const kept = messagesDays ?? installation.messagesDays
  if (bodiesDays !== null && isLonger(bodiesDays, kept))
    return `Texts cannot be kept longer (${daysText(bodiesDays)}) than the messages they belong to (${daysText(kept)}).`
  return null
}

function wrongDays(
  what: string,
  { days, least, most }: { readonly days: number | null; readonly least: number; readonly most: number },
): string | null {
  if (days === null) return null
  if (!Number.isInteger(days) || days < least || days > MOST_DAYS)
    return `${what} can be kept for ${least} to ${MOST_DAYS} days, in whole days.`
  if (isLonger(days, most))
    return `${what} are kept for ${daysText(most)} in this installation: an account can have less, not more.`
  return null
}
