import { durationText } from '../../format/durations.ts'
import { nameActor } from '../../format/name-actor.ts'
import type { TimelineEntry } from '../ports/administration.ts'
import { explainReason, isReasonCode, networkName, type ReasonCode } from '../reasons.ts'

interface Known {
  readonly number: string
  readonly channel: string | null
}

type PastText = (facts: TimelineEntry['facts'], known: Known & { readonly words: string | null }) => string

/** What was waited for, in the past and without a capital letter or full stop. */
const PAST: Partial<Readonly<Record<ReasonCode, PastText>>> = {
  behind_others: ({ before, isMore, openMs }) => {
    if (openMs) return 'the message before it had no result yet'
    return before ? `${aheadText(before, isMore)} before it` : 'earlier messages were before it'
  },
  pace: ({ before, isMore }, { number }) =>
    `${number} pauses after each message${before ? `, and ${aheadText(before, isMore)} before it` : ''}`,
  paused: ({ begunBy }, { number }) => (begunBy ? `${who(begunBy)} had paused ${number}` : `${number} was paused`),
  quiet_hours: (_, { number }) => `quiet hours of ${number}`,
  backlog_confirmation: ({ endedBy }) =>
    `the backlog waited for approval${endedBy ? `; ${who(endedBy)} approved it` : ''}`,
  database_went_back: ({ endedBy }) => `all numbers were held${endedBy ? `; ${who(endedBy)} released them` : ''}`,
  storage_unavailable: (_, { words }) => `nothing could be stored${words ? `: ${withoutStop(words)}` : ''}`,
  media_pending: () => 'its file was not downloaded yet',
  media_uploading: (_, { channel }) => `its file was uploaded to ${networkName(channel)}`,
  retrying: () => 'it waited for its next try',
  connection_away: (_, { number, channel }) => `${number} could not reach ${networkName(channel)}`,
  new_recipients: (_, { number }) => `${number} had written to as many new recipients as it may`,
  first_contacts_locked: (_, { number }) => `WhatsApp did not let ${number} write to people who never wrote to it`,
  trouble: () => 'several messages in a row had failed',
  process_gone: () => 'another process took over',
}

/** What a message waited for, to follow a colon; null when that is not known. */
export function pastCause({ code, words, facts }: Omit<TimelineEntry, 'at' | 'kind'>, known: Known): string | null {
  if (code === null) return null
  const text = isReasonCode(code) ? PAST[code] : undefined
  if (text) return text(facts, { ...known, words })
  const { number, channel } = known
  const { list } = explainReason(code, { words, channel, facts: { number } })
  const { endedBy } = facts
  return `${/^[A-Z]{2}|^(Meta|WhatsApp)\b/.test(list) ? list : `${list.charAt(0).toLowerCase()}${list.slice(1)}`}${endedBy ? `; ${who(endedBy)} ended the wait` : ''}`
}

/** How long Nuncio did not run, and why. */
export function stopText({ how, lastedMs }: TimelineEntry['facts']): string {
  const why =
    how === 'stopped'
      ? 'It was stopped.'
      : how === 'frozen'
        ? 'Its process stood still, or could not write to its database.'
        : 'It ended without warning.'
  return lastedMs === null || lastedMs === undefined
    ? `${why} It has not been started again.`
    : `${why} It ran again ${durationText(Number(lastedMs))} later.`
}

function aheadText(before: string | number, isMore: string | number | null | undefined): string {
  if (Number(before) === 1) return '1 message was'
  return `${isMore ? 'over ' : ''}${Number(before).toLocaleString('en')} messages were`
}

function who(actor: string | number): string {
  return nameActor(String(actor))
}

function withoutStop(words: string): string {
  return words.replace(/\.$/, '')
}
