import { atStart } from '../../format/capitalized.ts'
import { counted } from '../../format/counted.ts'
import { durationText } from '../../format/durations.ts'
import { atText } from '../../format/instants.ts'
import { nameActor } from '../../format/name-actor.ts'
import type { MessageTimeline, TimelineEntry } from '../ports/administration.ts'
import { networkName } from '../reasons.ts'

type Timeline = MessageTimeline['timeline']

/** Whether a message was sent: one sentence, and the same in two or three words for titles. */
export interface Answer {
  readonly sentence: string
  readonly short: string
}

const ORDINALS = ['', 'first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth']

const SUFFIXES = ['th', 'st', 'nd', 'rd']

/** As a word up to the ninth. */
export function ordinal(number: number): string {
  const isTeen = Math.floor(number / 10) % 10 === 1
  return ORDINALS[number] ?? `${number}${(isTeen ? null : SUFFIXES[number % 10]) ?? 'th'}`
}

/**
 * From facts only: state, attempts and reports, not the reason. "Not sent" only where every attempt is proven not to have
 * left, "not delivered" only after the network had the message.
 */
export function wasItSent(view: MessageTimeline): Answer {
  const { message, channel } = view
  const network = networkName(channel)
  if (message.reason === 'possible_duplicate' && isSent(message))
    return { sentence: 'Sent, perhaps twice.', short: 'perhaps sent twice' }
  switch (message.state) {
    case 'QUEUED':
      return waiting(view)
    case 'SENDING':
      return sending(message.reason)
    case 'PUBLISHED':
      return published(view, network)
    case 'DELIVERED':
      return { sentence: sentAnd(view, 'delivered'), short: 'delivered' }
    case 'READ':
      return { sentence: sentAnd(view, 'read'), short: 'read' }
    case 'FAILED':
      return message.publishedAt === null
        ? { sentence: 'Not sent.', short: 'not sent' }
        : { sentence: 'Sent, but not delivered.', short: 'not delivered' }
    case 'UNCONFIRMED':
      return { sentence: 'Nobody knows whether it arrived.', short: 'nobody knows' }
    case 'EXPIRED':
    case 'CANCELLED':
      return { sentence: 'Not sent.', short: 'not sent' }
  }
}

function waiting({ message, timeline, laneWait, asOf }: MessageTimeline): Answer {
  if (mayHaveLeft(timeline)) {
    const again = laneWait?.reason === 'retrying' && laneWait.until !== null ? atText(laneWait.until, asOf) : null
    const repeat = again === null ? '' : ` Nuncio sends it once more ${again}.`
    return { sentence: `It may have been sent already.${repeat}`, short: 'perhaps sent' }
  }
  const after = message.attempts === 0 ? '' : `, after ${counted(message.attempts, 'attempt')}`
  return { sentence: `Not sent yet${after}.`, short: 'not sent yet' }
}

/** Whether an attempt had an unknown result, and nothing has shown since that it had not left. */
export function mayHaveLeft(timeline: Timeline): boolean {
  return resultsOf(timeline).some(({ kind }) => kind === 'attempt-unknown')
}

/** The last of each attempt: one whose result was unknown may have turned out not to have left. */
export function resultsOf(timeline: Timeline): Timeline {
  const results = timeline.filter(({ kind }) => kind === 'attempt-unknown' || kind === 'attempt-rejected')
  return [...new Map(results.map((result) => [result.facts['attempt'], result])).values()]
}

/** Why it is not known whether an open attempt is still being made. */
const NOT_KNOWN: ReadonlyMap<string | null, string> = new Map([
  ['storage_unavailable', 'its result cannot be stored now'],
  ['service_stopped', 'Nuncio stopped while it was being sent'],
  ['process_gone', 'the process that sends it shows no sign of life'],
  ['awaiting_evidence', 'no clear answer came while it was being sent'],
])

function sending(reason: string | null): Answer {
  const why = NOT_KNOWN.get(reason)
  return why === undefined
    ? { sentence: 'Being sent now.', short: 'being sent' }
    : { sentence: `Not known yet: ${why}.`, short: 'not known yet' }
}

function published(view: MessageTimeline, network: string): Answer {
  const { message, timeline, asOf } = view
  if (message.reason === 'marked_arrived') {
    const resolved = timeline.findLast(({ kind }) => kind === 'resolved')
    const by = resolved?.facts['by']
    const who = typeof by === 'string' ? atStart(nameActor(by)) : 'A person'
    const at = resolved ? ` ${atText(resolved.at, asOf)}` : ''
    return { sentence: `${who} marked it as arrived${at}.`, short: 'marked as arrived' }
  }
  if (isShownByReport(view)) return { sentence: `Sent: a report from ${network} shows it.`, short: 'sent' }
  const nth = message.attempts > 1 ? ` at the ${ordinal(message.attempts)} attempt` : ''
  return { sentence: `Sent${nth}: ${network} accepted it${acceptedAfter(message)}.`, short: 'sent' }
}

/** A report of the network shows that it has it, and no answer to a call did. */
export function isShownByReport({ message, timeline }: MessageTimeline): boolean {
  if (!isSent(message)) return false
  if (message.reason === 'evidence_found' || timeline.some(({ code }) => code === 'evidence_found')) return true
  const has = (...kinds: readonly string[]) => timeline.some(({ kind }) => kinds.includes(kind))
  // The next report takes the reason away that the first one had set.
  return has('attempt-unknown', 'recovered') && timeline.some(showsArrival) && !has('attempt-accepted', 'resolved')
}

const ARRIVALS: ReadonlySet<string> = new Set([
  'receipt-sent',
  'receipt-delivered',
  'receipt-read',
  'receipt-unreadable',
])

/** Whether it is a report which shows that the network has the message. */
export function showsArrival({ kind }: Pick<TimelineEntry, 'kind'>): boolean {
  return ARRIVALS.has(kind)
}

export function isSent({ state }: MessageTimeline['message']): boolean {
  return state === 'PUBLISHED' || state === 'DELIVERED' || state === 'READ'
}

function acceptedAfter({ acceptedAt, publishedAt }: MessageTimeline['message']): string {
  return publishedAt === null ? '' : afterText(publishedAt - acceptedAt)
}

/** With both times after the request, if both are known. */
function sentAnd(view: MessageTimeline, how: 'delivered' | 'read'): string {
  const { message, timeline } = view
  const found = timeline.find(({ kind }) => kind === `receipt-${how}`)
  const [accepted] = timeline
  if (!found || !accepted) return `Sent and ${how}.`
  const thenMs = reportedAt(found, accepted.at) - accepted.at
  const sentMs = message.publishedAt === null ? -1 : message.publishedAt - message.acceptedAt
  // Known by a report alone, the time at which it was sent is not.
  if (sentMs < 0 || thenMs < sentMs || isShownByReport(view)) return `Sent and ${how}${afterText(thenMs)}.`
  return `Sent after ${durationText(sentMs)}, ${how} after ${durationText(thenMs)}.`
}

// Networks cut their times off to the second.
const CUT_OFF_MS = 1_000

/** A report stands in the timeline after all that it depends on, such as a result that became known later. */
function reportedAt({ at, facts }: TimelineEntry, acceptedAt: number): number {
  const networkTime = Number(facts['networkTime'] ?? at)
  const isInItsSecond = networkTime >= acceptedAt && at - networkTime < CUT_OFF_MS
  return isInItsSecond ? at : networkTime
}

/** Empty when the time is before acceptance: the network’s clock is behind ours, or ours was set back. */
function afterText(ms: number): string {
  return ms < 0 ? '' : ` ${durationText(ms)} after the request`
}
