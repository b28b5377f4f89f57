import { capitalized } from '../../format/capitalized.ts'
import { durationText } from '../../format/durations.ts'
import { instantText, shortTime } from '../../format/instants.ts'
import type { Instant, MessageId } from '../ids.ts'
import { ERASED } from '../message/erased.ts'
import type { MessageState } from '../message/message.ts'
import { CHANNEL_ACTOR } from '../message/timeline.ts'
import { nameActor } from '../name-actor.ts'
import type { MessageTimeline } from '../ports/administration.ts'
import { type ExplainedReason, explainReason, networkOf } from '../reasons.ts'
import { numberFacts } from './explain-wait.ts'
import { pastCause } from './explain-waited.ts'
import { NO_ACTION, type SentenceFacts } from './texts.ts'
import { type Answer, mayHaveLeft, ordinal, wasItSent } from './was-it-sent.ts'

/** What a person reads of a message: was it sent, why or why not, what to do. */
interface ExplainedMessage extends Answer {
  /** A code of core/reasons.ts, or a fact that has no code, such as `reports_missing`. Null: there is nothing to add. */
  readonly code: string | null
  readonly list: string
  readonly cause: string | null
  readonly nextStep: string
  readonly command: string | null
  readonly opens: ExplainedReason['opens']
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
  if (message.reason !== null) return ofReason(view, message.reason, { words: reasonWords, until: null })
  if (reportsMissing)
    return {
      ...NOTHING,
      code: 'reports_missing',
      list: `No reports from ${networkOf('', channel) ?? 'the network'}`,
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
  const said = code.startsWith('media_') ? withTries(words, view.timeline) : words
  const context = { state: message.state, words: said, channel, facts: factsOf(view, code, until) }
  const other = code === 'behind_others' ? view.waitsFor : null
  return { ...NOTHING, ...explainReason(code, context), until, other }
}

/** How often a download failed before it was given up. */
function withTries(words: string | null, timeline: MessageTimeline['timeline']): string | null {
  const last = timeline.findLast(({ kind }) => kind === 'media-failed')
  const first = timeline.find(({ kind }) => kind === 'media-retry')
  const tries = Number(last?.facts['tries'] ?? 1)
  if (!last || !first || tries < 2 || words === null) return words
  return words.replace(/\.$/, `, ${TIMES[tries] ?? `${tries} times`} in ${durationText(last.at - first.at)}.`)
}

/** What there is to say of a message that was sent as usual. */
function ofSent(view: MessageTimeline): Lines {
  const { message, timeline, channel } = view
  if (message.state !== 'PUBLISHED' && message.state !== 'DELIVERED' && message.state !== 'READ') return NOTHING
  const network = networkOf('', channel) ?? 'the network'
  const say = (list: string, cause: string, more: Partial<Lines> = {}): Lines => ({
    ...NOTHING,
    list,
    cause: capitalized(cause),
    ...more,
  })
  if (timeline.some(({ code }) => code === 'evidence_found')) {
    const facts = attemptFacts(view)
    return { ...NOTHING, ...explainReason('evidence_found', { channel, facts }) }
  }
  if (message.state !== 'PUBLISHED' && hasFailedAfterArrival(timeline))
    return say('Delivered; failure reported', `${network} later reported a failure, too. Delivery counts.`)
  const template = timeline.findLast(({ kind }) => kind === 'attempt-begun')?.facts['template']
  if (template)
    return say(`As template ${template}`, `Sent as template ${template}: the recipient had not written for 24 hours.`, {
      opens: 'connection',
    })
  if (timeline.some(({ kind, facts }) => kind === 'media-fetched' && facts['captionDropped'] === 'yes'))
    return say('Caption left out', 'The caption was left out: an audio message has none.', {
      nextStep: `${NO_ACTION} To send that text, send it as a message of its own.`,
    })
  const recovered = timeline.find(({ kind }) => kind === 'recovered')
  if (recovered)
    return say(
      `Sent at the ${ordinal(message.attempts)} attempt`,
      `Nuncio stopped during attempt ${String(recovered.facts['attempt'])}. ${capital(network)} showed that it had not left, so it was sent again.`,
    )
  const refused = timeline.filter(({ kind }) => kind === 'attempt-rejected')
  const busy = refused.filter(({ code }) => code === 'busy').length
  const nth = `Sent at the ${ordinal(message.attempts)} attempt`
  if (busy > 0) return say(nth, `${network} was busy ${busy === 1 ? 'once' : busy === 2 ? 'twice' : `${busy} times`}.`)
  const tries = Number(timeline.findLast(({ kind }) => kind === 'media-fetched')?.facts['tries'] ?? 1)
  if (tries > 1) return say('', `The file was downloaded at the ${ordinal(tries)} try.`)
  const wait = longestWait(view)
  if (wait && wait.waitedMs >= LONG_WAIT_MS && !refused.some(({ code }) => code === 'connection_away'))
    return say('', `It waited ${durationText(wait.waitedMs)}: ${wait.cause}.`)
  if (refused.some(({ code }) => code === 'connection_away' || code === 'network_error')) {
    const first = timeline.find(({ kind }) => kind === 'attempt-begun')
    const away = (message.publishedAt ?? 0) - (first?.at ?? 0)
    return say(nth, `${message.connection} could not reach ${network} for ${durationText(away)}.`)
  }
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

/** What it waited for longest, where that is known. */
function longestWait({ timeline, message, channel }: MessageTimeline) {
  const waits = timeline.flatMap((entry) => {
    const { kind, facts } = entry
    const cause = kind === 'waiting' ? pastCause(entry, { number: message.connection, channel }) : null
    const pausedBy = entry.code === 'paused' ? facts['begunBy'] : null
    return cause === null ? [] : [{ cause, waitedMs: Number(facts['waitedMs']), pausedBy }]
  })
  return waits.toSorted((a, b) => b.waitedMs - a.waitedMs)[0] ?? null
}

function expiryFacts(view: MessageTimeline): SentenceFacts {
  const wait = longestWait(view)
  return wait ? { waited: wait.cause, pausedBy: wait.pausedBy ? nameActor(String(wait.pausedBy)) : undefined } : {}
}

/** What the reason's sentences may name. */
function factsOf(view: MessageTimeline, code: string, until: Instant | null): SentenceFacts {
  const { message, policy, position, asOf, paused, block, removed, tries } = view
  const at = (instant: Instant) => atText(instant, asOf)
  const before = position === null ? 0 : position - 1
  const gapMs = policy.leastGapMs + policy.gapJitterMs / 2
  const isWaiting = message.state === 'QUEUED'
  const turnAt = gapMs > 0 && until !== null && code === 'pace' ? until + before * gapMs : null
  const by = actOf(view, code)
  return {
    ...numberFacts({ number: message.connection, policy }),
    to: message.to === ERASED ? undefined : message.to,
    until: until === null ? undefined : shortTime(until, asOf),
    before: isWaiting && before > 0 ? `${before === 1 ? '1 message is' : `${count(before)} messages are`}` : undefined,
    ahead: isWaiting && before > 0 ? count(before) : undefined,
    turn: turnAt === null ? undefined : shortTime(turnAt, asOf),
    ...attemptFacts(view),
    nth: tries === null ? undefined : ordinal(tries + 1),
    cause: causeOfLast(view),
    ...(code === 'time_to_live_over' ? expiryFacts(view) : {}),
    earlier: view.waitsFor ?? undefined,
    ...(code === 'paused' && paused ? { who: capital(nameActor(paused.by)), at: at(paused.at) } : {}),
    ...(code === 'recipient_blocked' && block
      ? { who: nameActor(block.by), at: at(block.at), why: block.why ?? undefined }
      : {}),
    ...(code === 'connection_removed' && removed ? { who: capital(nameActor(removed.by)), at: at(removed.at) } : {}),
    ...(by ? { who: capital(nameActor(by.by)), at: at(by.at) } : {}),
  }
}

function attemptFacts({ message, timeline, asOf }: MessageTimeline): SentenceFacts {
  if (message.state === 'SENDING') {
    const begun = timeline.findLast(({ kind }) => kind === 'attempt-begun')
    return begun ? { n: String(begun.facts['attempt']), at: atText(begun.at, asOf) } : {}
  }
  const recovered = timeline.findLast(({ kind }) => kind === 'recovered')
  const unknown = resultsOf(timeline).findLast(({ kind }) => kind === 'attempt-unknown')
  const n = (unknown ?? recovered)?.facts['attempt']
  // Of a waiting message only where its last attempt may have left.
  const isOpen = message.state !== 'QUEUED' || mayHaveLeft(timeline)
  const refused = timeline.filter(({ kind }) => kind === 'attempt-rejected').length
  const isCancelled = message.state === 'CANCELLED' && refused > 0
  return {
    ...(message.state === 'UNCONFIRMED' ? unknownFacts(timeline) : {}),
    n: n === undefined || n === null || !isOpen ? undefined : String(n),
    attempts: isCancelled ? `${refused} attempt${refused === 1 ? '' : 's'}` : recovered ? '1 attempt' : undefined,
  }
}

/** What came after an attempt that may have arrived. */
function unknownFacts(timeline: MessageTimeline['timeline']): SentenceFacts {
  const results = resultsOf(timeline)
  const unknowns = results.filter(({ kind }) => kind === 'attempt-unknown').length
  const last = results.at(-1)
  if (unknowns === 0 || !last) return {}
  if (last.kind === 'attempt-rejected' && last.code !== 'evidence_not_sent')
    return { refusedN: String(last.facts['attempt']) }
  return unknowns > 1 ? { unknowns: String(unknowns) } : {}
}

/** The last of each attempt: one whose result was unknown may have turned out not to have left. */
function resultsOf(timeline: MessageTimeline['timeline']): MessageTimeline['timeline'] {
  const results = timeline.filter(({ kind }) => kind === 'attempt-unknown' || kind === 'attempt-rejected')
  return [...new Map(results.map((result) => [result.facts['attempt'], result])).values()]
}

/** The person who ended it, and when. */
function actOf({ timeline }: MessageTimeline, code: string): { readonly by: string; readonly at: Instant } | null {
  const isCancelled = code === 'cancelled_by_person' || code === 'result_unknown'
  const kind = isCancelled ? 'cancelled' : code === 'marked_arrived' ? 'resolved' : null
  const entry = kind === null ? undefined : timeline.findLast((one) => one.kind === kind)
  const by = entry?.facts['by']
  return entry && typeof by === 'string' ? { by, at: entry.at } : null
}

/** Why its last attempt failed, in a sentence. */
function causeOfLast({ timeline, channel, message }: MessageTimeline): string | undefined {
  const last = timeline.findLast(({ kind }) => kind === 'attempt-rejected' || kind === 'media-retry')
  if (!last?.code) return undefined
  const facts = { number: message.connection, to: message.to === ERASED ? undefined : message.to }
  return explainReason(last.code, { words: last.words, channel, facts }).cause
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

/** What was done since, or stands in the way, comes before what the reason says: to follow that would double the message. */
function replaced(view: MessageTimeline, own: Lines): Partial<Lines> {
  const { message, resent, connectionState, hasSuccessor, bodyDeletedAt, repeatsWhatLeft, resendOf, timeline } = view
  const cause = own.cause ?? ''
  if (repeatsWhatLeft)
    return {
      list: 'Its original arrived',
      cause: 'It repeats a message that has arrived after all.',
      nextStep: 'Cancel this one, or the recipient gets both.',
      command: null,
      opens: null,
      other: resendOf,
    }
  if (resent) return ofResent(message.state, cause, resent)
  if (!NOT_SENT.has(message.state)) return {}
  const barred = (nextStep: string, more: Partial<Lines> = {}): Partial<Lines> => ({
    nextStep,
    command: null,
    opens: null,
    ...more,
  })
  if (message.to === ERASED) return barred('It cannot be sent again: its recipient was erased.')
  if (bodyDeletedAt !== null)
    return barred('It cannot be sent again: its content was deleted. Send a new message if it is still wanted.')
  if (connectionState === 'removed' && !hasSuccessor)
    return barred(`Add ${message.connection} again; “Retry” then appears here.`, { opens: 'connections' })
  if (timeline.some(({ kind }) => kind === 'receipt-contrary'))
    return barred('Ask the recipient before you retry: it may have arrived.', {
      cause: `${cause} But a report of the network contradicts that.`.trim(),
    })
  if (view.block && message.reason !== 'recipient_blocked')
    return barred('The recipient is on the block list now. Unblock it before you retry.', { opens: 'recipients' })
  if (!view.block && message.reason === 'recipient_blocked')
    return barred('It is no longer on the list. Retry it if it is still wanted.', {
      list: 'Was on the block list',
      cause: `${message.to} was on the block list then.`,
    })
  return message.reason === 'connection_removed' ? barred('Retry it if it is still wanted.') : {}
}

function ofResent(
  was: MessageState,
  cause: string,
  { id, state, reason, words, by }: NonNullable<MessageTimeline['resent']>,
): Partial<Lines> {
  const who = by === null ? 'A person' : capital(nameActor(by))
  const how = by === CHANNEL_ACTOR ? ' as a template' : ''
  const list =
    by === CHANNEL_ACTOR ? 'Sent again as a template' : `Sent again by ${by === null ? 'a person' : nameActor(by)}`
  const done = `${cause} ${who} sent it again${how}. That message ${BECAME[state]}.`.trim()
  const more = { list, command: null, opens: null, other: id } as const
  if (state === 'FAILED' && reason !== null) {
    const failed = explainReason(reason, { state, words })
    return { ...more, cause: `${done} ${failed.cause}`, nextStep: `See that message. ${failed.nextStep}` }
  }
  const twice = was === 'UNCONFIRMED' ? ' The recipient may get it twice.' : ''
  return { ...more, cause: done, nextStep: `You need not do anything here.${twice}` }
}

function atText(instant: Instant, asOf: Instant): string {
  const text = shortTime(instant, asOf)
  return text === instantText(instant) ? `on ${text}` : `at ${text}`
}

function capital(text: string): string {
  return text.startsWith('the ') ? `T${text.slice(1)}` : text
}

function count(value: number): string {
  return value.toLocaleString('en')
}
