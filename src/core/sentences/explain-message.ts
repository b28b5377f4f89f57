import { atStart, capitalized } from '../../format/capitalized.ts'
import { durationText } from '../../format/durations.ts'
import { atText } from '../../format/instants.ts'
import { CHANNEL_ACTOR, nameActor } from '../../format/name-actor.ts'
import { commandLine } from '../command-line.ts'
import type { Instant, MessageId } from '../ids.ts'
import { ERASED } from '../message/erased.ts'
import type { MessageState } from '../message/message.ts'
import type { MessageTimeline } from '../ports/administration.ts'
import { type ExplainedReason, explainReason, networkName } from '../reasons.ts'
import { explainNoResend, resendFactsOf } from './explain-no-resend.ts'
import { evidenceFacts, factsOf, longestWait, recipientOf, stopWithin } from './message-facts.ts'
import { cutName, NO_ACTION } from './texts.ts'
import { type Answer, isSent, isShownByReport, mayHaveLeft, ordinal, wasItSent } from './was-it-sent.ts'

/** What a person reads of a message: was it sent, why or why not, what to do. */
interface ExplainedMessage extends Answer {
  /** A code of core/reasons.ts, or a fact that has no code, such as `reports_missing`. Null: there is nothing to add. */
  readonly code: string | null
  readonly list: string
  readonly cause: string | null
  readonly nextStep: string
  readonly command: string | null
  readonly opens: ExplainedReason['opens']
  readonly canRetry: boolean
  readonly quote: ExplainedReason['quote']
  /** When the wait ends. */
  readonly until: Instant | null
  /** Another message that the next step is about. */
  readonly other: MessageId | null
}

type Lines = Omit<ExplainedMessage, keyof Answer>

const NOTHING: Lines = {
  code: null,
  list: '',
  cause: null,
  nextStep: NO_ACTION,
  command: null,
  opens: null,
  canRetry: true,
  quote: null,
  until: null,
  other: null,
}
const TIMES = ['', 'once', 'twice', 'three times', 'four times']
// Longer waits and calls are named of a message that was sent.
const LONG_WAIT_MS = 10_000
const SLOW_CALL_MS = 3_000
const REPORTED_WITHIN_MS = 60_000

/** From facts only, as of the moment at which they were read. */
export function explainMessage(view: MessageTimeline): ExplainedMessage {
  const own = linesOf(view)
  return { ...wasItSent(view), ...own, ...replaced(view, own) }
}

function linesOf(view: MessageTimeline): Lines {
  const { message, laneWait, reasonWords, reportsMissing, channel } = view
  if (laneWait && (message.state === 'QUEUED' || message.state === 'SENDING'))
    return ofReason(view, laneWait.reason, { words: laneWait.words, until: laneWait.until })
  if (isShownByReport(view) && message.reason !== 'possible_duplicate') return ofEvidence(view)
  if (message.reason !== null) return ofReason(view, message.reason, { words: reasonWords, until: null })
  if (reportsMissing)
    return {
      ...NOTHING,
      code: 'reports_missing',
      list: `No reports from ${networkName(channel)}`,
      cause: reportsMissing.cause,
      nextStep: reportsMissing.nextStep,
      command: reportsMissing.command,
      opens: 'connection',
    }
  return ofSent(view)
}

function ofReason(
  view: MessageTimeline,
  code: string,
  { words, until }: { readonly words: string | null; readonly until: Instant | null },
): Lines {
  const { message, channel } = view
  const said = code.startsWith('media_') ? withTries(words, code, view.timeline) : words
  const facts = { ...factsOf(view, code, until), ...(said === null ? {} : { words: said }) }
  const context = { state: message.state, words, channel, facts }
  const other = code === 'behind_others' ? (view.waitsFor?.id ?? null) : null
  return { ...NOTHING, ...explainReason(code, context), until, other }
}

/** How often a download failed before it was given up. */
function withTries(words: string | null, code: string, timeline: MessageTimeline['timeline']): string | null {
  const last = timeline.findLast(({ kind }) => kind === 'media-failed')
  const first = timeline.find(({ kind }) => kind === 'media-retry')
  const tries = Number(last?.facts['tries'] ?? 1)
  if (!last || !first || tries < 2 || words === null) return words
  const often = `${TIMES[tries] ?? `${tries} times`} in ${durationText(last.at - first.at)}.`
  // A name or a certificate is wrong as a state; it does not fail several times.
  const isState = code === 'media_dns' || code === 'media_tls'
  return isState ? `${words} Nuncio tried ${often}` : words.replace(/\.$/, `, ${often}`)
}

/** What there is to say of a message that was sent as usual. */
function ofSent(view: MessageTimeline): Lines {
  const { message, timeline, channel } = view
  if (!isSent(message)) return NOTHING
  const network = networkName(channel)
  const to = recipientOf(view) ?? 'the recipient'
  const say = (list: string, cause: string, more: Partial<Lines> = {}): Lines => ({
    ...NOTHING,
    list,
    cause: capitalized(cause),
    ...more,
  })
  if (message.state !== 'PUBLISHED' && hasFailedAfterArrival(timeline))
    return say('Delivered; failure reported', `${network} later reported a failure, too. Delivery counts.`)
  const template = timeline.findLast(({ kind }) => kind === 'attempt-begun')?.facts['template']
  if (template)
    return say(`As template ${template}`, `Sent as template ${template}: ${to} had not written for 24 hours.`, {
      opens: 'connection',
    })
  if (timeline.some(({ kind, facts }) => kind === 'media-fetched' && facts['captionDropped'] === 'yes'))
    return say('Caption left out', 'The caption was left out: an audio message has none.', {
      nextStep: `${NO_ACTION} To send that text, send it as a message of its own.`,
    })
  const recovered = timeline.find((one) => one.kind === 'recovered' && hasNotLeft(timeline, one.facts['attempt']))
  if (recovered)
    return say(
      `Sent at the ${ordinal(message.attempts)} attempt`,
      `Nuncio stopped during attempt ${String(recovered.facts['attempt'])}. ${atStart(network)} showed that it had not left, so it was sent again.`,
    )
  const wait = longestWait(view)
  const stop = stopWithin(timeline, { from: message.acceptedAt, to: message.publishedAt ?? message.acceptedAt })
  if (stop.lastedMs >= LONG_WAIT_MS && stop.lastedMs > (wait?.waitedMs ?? 0)) return say('', `Nuncio ${stop.text}.`)
  const refused = timeline.filter(({ kind }) => kind === 'attempt-rejected')
  const busy = refused.filter(({ code }) => code === 'busy').length
  const nth = `Sent at the ${ordinal(message.attempts)} attempt`
  if (busy > 0) return say(nth, `${network} was busy ${busy === 1 ? 'once' : busy === 2 ? 'twice' : `${busy} times`}.`)
  const fetched = timeline.findLast(({ kind }) => kind === 'media-fetched')
  const tries = Number(fetched?.facts['tries'] ?? 1)
  if (fetched && tries > 1) {
    const after = durationText(fetched.at - message.acceptedAt)
    return say('', `The file was downloaded at the ${ordinal(tries)} try, after ${after}.`)
  }
  if (wait && wait.waitedMs >= LONG_WAIT_MS && wait.code !== 'connection_away')
    return say('', `It waited ${durationText(wait.waitedMs)}: ${wait.cause}.`)
  if (refused.some(({ code }) => code === 'connection_away' || code === 'network_error')) {
    const first = timeline.find(({ kind }) => kind === 'attempt-begun')
    const away = (message.publishedAt ?? 0) - (first?.at ?? 0)
    return say(nth, `${message.connection} could not reach ${network} for ${durationText(away)}.`)
  }
  if (timeline.some(({ kind }) => kind === 'receipt-unreadable'))
    return say('', `One device of ${to} could not read it, so it was sent to that device again.`)
  const took = Number(timeline.find(({ kind }) => kind === 'attempt-accepted')?.facts['tookMs'] ?? 0)
  if (took >= SLOW_CALL_MS) return say('', `${network} took ${durationText(took)} to answer.`)
  const isRead = message.state === 'READ' && !timeline.some(({ kind }) => kind === 'receipt-delivered')
  if (isRead) return say('', `${network} reported that it was read; that includes delivery.`)
  if (isUndelivered(view))
    return say('Not delivered yet', `${network} has it. It has not reported delivery yet.`, {
      nextStep: 'You need not do anything: it is delivered when the phone is online.',
    })
  if (channel === 'sandbox')
    return say('', 'It is in the sandbox inbox. Nothing left this machine.', { opens: 'inbox' })
  return NOTHING
}

function hasNotLeft(timeline: MessageTimeline['timeline'], attempt: unknown): boolean {
  return timeline.some(
    ({ kind, code, facts }) =>
      kind === 'attempt-rejected' && code === 'evidence_not_sent' && facts['attempt'] === attempt,
  )
}

/** A report shows that the network has it, and not the answer to the call. What came of it says nothing of how it was sent. */
function ofEvidence(view: MessageTimeline): Lines {
  const { words, ...facts } = evidenceFacts(view)
  const explained = explainReason('evidence_found', { channel: view.channel, words: words ?? null, facts })
  return { ...NOTHING, ...explained, quote: null }
}

const ARRIVALS = ['sent', 'delivered', 'read']

/** A delivery that was reported after a failure contradicts that one, and is none itself. */
function hasFailedAfterArrival(timeline: MessageTimeline['timeline']): boolean {
  const arrived = timeline.findIndex(({ kind }) => kind === 'receipt-delivered' || kind === 'receipt-read')
  if (arrived < 0) return false
  return timeline
    .slice(arrived + 1)
    .some(
      ({ kind, code, words }) =>
        kind === 'receipt-contrary' && code !== 'second_network_id' && !ARRIVALS.includes(words ?? ''),
    )
}

/** Long enough after it was sent that a report should have come, on networks that report deliveries. */
function isUndelivered({ message: { state, publishedAt }, timeline, channel, asOf }: MessageTimeline): boolean {
  if (state !== 'PUBLISHED' || publishedAt === null || !channel.startsWith('whatsapp-')) return false
  return asOf - publishedAt > REPORTED_WITHIN_MS && !timeline.some(({ kind }) => kind === 'receipt-failed')
}

const NOT_SENT: ReadonlySet<MessageState> = new Set(['FAILED', 'EXPIRED', 'CANCELLED'])

const BECAME: Readonly<Record<MessageState, string>> = {
  QUEUED: 'waits to be sent',
  SENDING: 'is being sent',
  PUBLISHED: 'was sent',
  DELIVERED: 'was delivered',
  READ: 'was read',
  FAILED: 'failed',
  UNCONFIRMED: 'is unconfirmed',
  EXPIRED: 'expired',
  CANCELLED: 'was cancelled',
}

/**
 * What was done since, or stands in the way, replaces the next step of the reason: following that one would send the message
 * twice.
 */
function replaced(view: MessageTimeline, own: Lines): Partial<Lines> {
  const { message, resent, repeatsWhatLeft } = view
  if (repeatsWhatLeft && (message.state === 'QUEUED' || isSent(message))) return ofRepeated(view)
  if (resent) return ofResent(view, own.cause ?? '', resent)
  if (message.state === 'QUEUED') return reportedAfterRefusal(view)
  if (message.state === 'UNCONFIRMED') return unresolved(view, own)
  return NOT_SENT.has(message.state) ? barred(view, own) : {}
}

/** The message that it repeats has arrived after all. */
function ofRepeated({ message: { state }, resendOf }: MessageTimeline): Partial<Lines> {
  const more = { command: null, opens: null, other: resendOf } as const
  const cause = 'It repeats a message that has arrived after all.'
  if (state === 'QUEUED')
    return {
      ...more,
      list: 'Its original arrived',
      cause,
      nextStep: 'Cancel this one, or the recipient gets both.',
    }
  return { ...more, cause, nextStep: `${NO_ACTION} The recipient has it twice.` }
}

/** It is still sent: all its attempts were refused, and only a person can decide which of the two is wrong. */
function reportedAfterRefusal(view: MessageTimeline): Partial<Lines> {
  const report = contraryArrival(view)
  if (report === null || mayHaveLeft(view.timeline)) return {}
  return {
    list: 'Rejected, yet reported',
    cause: `${atStart(networkName(view.channel))} rejected it, but also reported: ${report}. It is still to be sent.`,
    nextStep: `If ${recipientOf(view) ?? 'the recipient'} has it, cancel this one.`,
    command: commandLine`message cancel ID`,
    opens: null,
  }
}

/** The report, and when it came, that the message arrived although its attempts were refused; null: there is none. */
function contraryArrival({ timeline, asOf }: MessageTimeline): string | null {
  const report = timeline.findLast(
    ({ kind, words }) => kind === 'receipt-contrary' && (words === null || ARRIVALS.includes(words)),
  )
  return report ? `${report.words ?? 'another result'}, ${atText(report.at, asOf)}` : null
}

/** What stands in the way of sending it again. */
function barred(view: MessageTimeline, own: Lines): Partial<Lines> {
  const { message, connectionState, hasSuccessor, bodyDeletedAt, removed, asOf } = view
  const cause = own.cause ?? ''
  const report = contraryArrival(view)
  const say = (nextStep: string, more: Partial<Lines> = {}): Partial<Lines> => ({
    nextStep,
    command: null,
    opens: null,
    ...more,
  })
  if (message.to === ERASED) return say('It cannot be sent again: its recipient was erased.')
  if (bodyDeletedAt !== null)
    return say('It cannot be sent again: its content was deleted. Send a new message if it is still wanted.')
  // Then there is no Retry, whatever is done about the number or the recipient.
  if (!own.canRetry && report === null) return {}
  if (connectionState === 'removed' && !hasSuccessor) {
    const isSaid = message.reason === 'connection_removed' || !removed
    const since = isSaid
      ? ''
      : ` ${atStart(nameActor(removed.by))} removed ${message.connection} ${atText(removed.at, asOf)}.`
    return say(`Add ${message.connection} again; “Retry” then appears here.`, {
      cause: `${cause}${since}`,
      opens: 'connections',
    })
  }
  if (report !== null)
    return say('Ask the recipient before you retry: it may have arrived.', {
      canRetry: true,
      cause: `${cause} But ${networkName(view.channel)} also reported: ${report}.`.trim(),
    })
  if (view.block && message.reason !== 'recipient_blocked')
    return say('The recipient is on the block list now. Unblock it before you retry.', { opens: 'recipients' })
  if (!view.block && message.reason === 'recipient_blocked')
    return say('It is no longer on the list. Retry it if it is still wanted.', {
      cause: `${message.to} was on the block list then.`,
    })
  return message.reason === 'connection_removed' ? say('Retry it if it is still wanted.') : {}
}

/** What stands in the way of sending it again, or what else may still settle it. */
function unresolved(view: MessageTimeline, { nextStep }: Lines): Partial<Lines> {
  const bar = explainNoResend(view.message, resendFactsOf(view))
  if (bar) return { ...bar, command: commandLine`message resolve ID --arrived` }
  return view.channel.startsWith('whatsapp-') ? { nextStep: `${nextStep} A late report still settles it.` } : {}
}

const AS_TEMPLATE = { sent: 'Sent again as a template', failed: 'Failed as a template, too' } as const

function ofResent(
  view: MessageTimeline,
  cause: string,
  { id, state, reason, words, by }: NonNullable<MessageTimeline['resent']>,
): Partial<Lines> {
  const who = by === null ? 'A person' : atStart(nameActor(by))
  const how = by === CHANNEL_ACTOR ? ' as a template' : ''
  const list =
    by === CHANNEL_ACTOR
      ? AS_TEMPLATE[state === 'FAILED' ? 'failed' : 'sent']
      : `Sent again by ${by === null ? 'a person' : cutName(nameActor(by))}`
  const done = `${cause} ${who} sent it again${how}. That message ${BECAME[state]}.`.trim()
  const more = { list, command: null, opens: null, other: id } as const
  if (state === 'FAILED' && reason !== null) {
    // A number that was removed and added again may have another channel.
    const channel = view.connectionState === 'removed' ? null : view.channel
    const facts = { number: view.message.connection, to: recipientOf(view) }
    const failed = explainReason(reason, { state, words, channel, facts })
    return { ...more, cause: `${done} ${failed.cause}`, nextStep: `See that message. ${failed.nextStep}` }
  }
  const twice = view.message.state === 'UNCONFIRMED' ? ' The recipient may get it twice.' : ''
  return { ...more, cause: done, nextStep: `You need not do anything here.${twice}` }
}
