import { atStart } from '../../format/capitalized.ts'
import { counted } from '../../format/counted.ts'
import { durationText } from '../../format/durations.ts'
import { atText, secondText, shortTime } from '../../format/instants.ts'
import { byActor, nameActor } from '../../format/name-actor.ts'
import type { Instant } from '../ids.ts'
import { type EarlierMessage, earlierText } from '../message/earlier-message.ts'
import { ERASED } from '../message/erased.ts'
import type { MessageTimeline, TimelineEntry } from '../ports/administration.ts'
import { explainReason, type ReasonCode } from '../reasons.ts'
import { numberFacts, untilText } from './explain-wait.ts'
import { pastCause } from './explain-waited.ts'
import type { SentenceFacts } from './texts.ts'
import { mayHaveLeft, ordinal, resultsOf, showsArrival } from './was-it-sent.ts'

type Timeline = MessageTimeline['timeline']

/** What the sentences of a message's reason may name. */
export function factsOf(view: MessageTimeline, code: string, until: Instant | null): SentenceFacts {
  const { message, policy, position, asOf, paused, block, removed, tries } = view
  const at = (instant: Instant) => atText(instant, asOf)
  const before = position === null ? 0 : position - 1
  const gapMs = policy.leastGapMs + policy.gapJitterMs / 2
  const isWaiting = message.state === 'QUEUED'
  const turnAt = gapMs > 0 && until !== null && code === 'pace' ? until + before * gapMs : null
  const by = actOf(view, code)
  return {
    ...numberFacts({ number: message.connection, policy }),
    to: recipientOf(view),
    until: untilText({ reason: code, until }, policy, asOf),
    before: isWaiting && before > 0 ? `${before === 1 ? '1 message is' : `${count(before)} messages are`}` : undefined,
    ahead: isWaiting && before > 0 ? count(before) : undefined,
    turn: turnAt === null ? undefined : shortTime(turnAt, asOf),
    ...attemptFacts(view),
    // A failure of its number or lane counts as no try.
    nth: tries === null || tries === 0 ? undefined : ordinal(tries + 1),
    cause: causeOfLast(view),
    ...(code === 'time_to_live_over' ? expiryFacts(view) : {}),
    ...(code === 'tries_used_up' ? triesFacts(view) : {}),
    earlier: view.waitsFor ? earlierClause(view.waitsFor, asOf) : undefined,
    ...(code === 'paused' && paused ? { who: atStart(nameActor(paused.by)), at: at(paused.at) } : {}),
    ...(code === 'recipient_blocked' && block
      ? { by: byActor(block.by), at: at(block.at), why: block.why ?? undefined }
      : {}),
    ...(code === 'connection_removed' && removed ? { who: atStart(nameActor(removed.by)), at: at(removed.at) } : {}),
    ...(by ? { who: atStart(nameActor(by.by)), at: at(by.at) } : {}),
  }
}

function earlierClause(earlier: EarlierMessage, asOf: Instant): string {
  const { text, at } = earlierText(earlier)
  return at === null ? text : `${text} ${secondText(at, asOf)}`
}

/** Undefined: the number is gone. */
export function recipientOf({ message }: Pick<MessageTimeline, 'message'>): string | undefined {
  return message.to === ERASED ? undefined : message.to
}

/** What it waited for longest. */
export function longestWait({ timeline, message, channel }: MessageTimeline) {
  const waits = timeline
    .filter(({ kind }) => kind === 'waiting')
    .flatMap((entry) => {
      const { facts, code } = entry
      const cause = pastCause(entry, { number: message.connection, channel })
      const pausedBy = code === 'paused' ? facts['begunBy'] : null
      return cause === null ? [] : [{ cause, code, waitedMs: Number(facts['waitedMs']), pausedBy }]
    })
  return waits.toSorted((a, b) => b.waitedMs - a.waitedMs)[0] ?? null
}

const LATER_FROM_MS = 1_000

/** How it became known that the network has a message that did not say so in its answer. */
export function evidenceFacts(view: MessageTimeline): SentenceFacts {
  const { timeline } = view
  const unknown = timeline.findLast(({ kind }) => kind === 'attempt-unknown')
  const accepted = timeline.find(({ kind, code }) => kind === 'attempt-accepted' && code === 'evidence_found')
  const found = accepted ?? timeline.find(showsArrival)
  const laterMs = unknown && found ? found.at - unknown.at : -1
  return {
    number: view.message.connection,
    ...attemptFacts(view),
    words: unknown?.words ?? undefined,
    // Sooner, it may have come while the answer was still awaited.
    later: laterMs < LATER_FROM_MS ? undefined : durationText(laterMs),
    ...(accepted ? {} : lateEvidence(timeline)),
  }
}

/** The facts of a report that came when no attempt was open. */
function lateEvidence(timeline: Timeline): SentenceFacts {
  const end = timeline.find(({ kind }) => kind === 'settled')?.facts['state']
  if (timeline.some(({ kind }) => kind === 'receipt-contrary')) {
    if (timeline.some(saysFailure)) return { afterFailure: 'yes' }
    if (end === 'FAILED') return { givenUp: 'yes' }
  }
  if (!timeline.some(({ kind }) => kind === 'attempt-unknown')) return { forgotten: 'yes' }
  return end === 'PUBLISHED' ? { beforeRepeat: 'yes' } : {}
}

// Refusals of the network that are not under a code of its own.
const REFUSALS: ReadonlySet<string> = new Set([
  'recipient_refused',
  'content_refused',
  'evidence_not_sent',
  'not_on_whatsapp',
  'stanza_refused',
  'network_refused',
] satisfies ReasonCode[])

/** Whether the network said that it failed. */
function saysFailure({ kind, code }: TimelineEntry): boolean {
  if (kind === 'receipt-failed') return true
  return kind === 'attempt-rejected' && code !== null && (REFUSALS.has(code) || /^(?:whatsapp|bridge)_/.test(code))
}

function expiryFacts(view: MessageTimeline): SentenceFacts {
  const { timeline, message } = view
  const expiredAt = timeline.findLast(({ kind }) => kind === 'settled')?.at
  if (expiredAt === undefined) return {}
  // How long it may wait may have been changed since.
  const waited = { wait: durationText(expiredAt - message.acceptedAt) }
  const longest = longestWait(view)
  const stop = stopWithin(timeline, { from: message.acceptedAt, to: expiredAt })
  if (stop.lastedMs > (longest?.waitedMs ?? 0)) return { ...waited, stopped: stop.text }
  if (!longest) return waited
  if (longest.code === 'backlog_confirmation') return { ...waited, unapproved: 'yes' }
  const { cause, pausedBy } = longest
  return { ...waited, waited: cause, pausedBy: pausedBy ? nameActor(String(pausedBy)) : undefined }
}

/** How long Nuncio did not run or stood still in that time; in words after its name. */
export function stopWithin(timeline: Timeline, { from, to }: { readonly from: Instant; readonly to: Instant }) {
  const stops = timeline.flatMap(({ kind, at, facts: { how, since, until } }) => {
    const lastedMs = Math.min(Number(until ?? to), to) - Math.max(Number(since ?? at), from)
    return kind === 'service-stopped' && lastedMs > 0 ? [{ how, lastedMs }] : []
  })
  const lastedMs = stops.reduce((sum, stop) => sum + stop.lastedMs, 0)
  const what = stops.every(({ how }) => how === 'frozen') ? 'stood still' : 'was not running'
  return { lastedMs, text: `${what} for ${durationText(lastedMs)}` }
}

/** Over all attempts. Without any, its file could not be brought to the network. */
function triesFacts({ message, timeline }: MessageTimeline): SentenceFacts {
  if (message.attempts === 0) return { uploads: 'yes' }
  const attempts = timeline.filter(({ kind }) => kind.startsWith('attempt-'))
  const [first, last] = [attempts[0], attempts.at(-1)]
  return first && last ? { wait: durationText(last.at - first.at) } : {}
}

function attemptFacts(view: MessageTimeline): SentenceFacts {
  const { message, timeline, asOf } = view
  if (message.state === 'SENDING') {
    const begun = timeline.findLast(({ kind }) => kind === 'attempt-begun')
    return begun ? { n: String(begun.facts['attempt']), at: atText(begun.at, asOf) } : {}
  }
  const recovered = timeline.findLast(({ kind }) => kind === 'recovered')
  const results = resultsOf(timeline)
  const last = results.at(-1)
  const unknown = results.findLast(({ kind }) => kind === 'attempt-unknown')
  const n = (unknown ?? recovered)?.facts['attempt']
  // A waiting message counts only if its last attempt may have left.
  const isOpen = message.state !== 'QUEUED' || mayHaveLeft(timeline)
  const refused = timeline.filter(({ kind }) => kind === 'attempt-rejected').length
  const isStopped = recovered !== undefined && recovered.facts['attempt'] === n
  const isCancelled = message.state === 'CANCELLED' && refused > 0
  const isRefusedLast = message.state === 'QUEUED' && isOpen && last?.kind === 'attempt-rejected'
  return {
    ...(message.state === 'UNCONFIRMED' ? unknownFacts(view) : {}),
    ...(isRefusedLast ? { refusedN: String(last.facts['attempt']) } : {}),
    n: n === undefined || n === null || !isOpen ? undefined : String(n),
    attempts: isCancelled ? counted(refused, 'attempt') : isStopped ? '1 attempt' : undefined,
  }
}

/** What came after an attempt that may have arrived. */
function unknownFacts(view: MessageTimeline): SentenceFacts {
  const { timeline, message } = view
  // The network had taken it, and reported later that this attempt failed.
  if (message.publishedAt !== null) return { reportedFailed: 'yes' }
  const results = resultsOf(timeline)
  const unknowns = results.filter(({ kind }) => kind === 'attempt-unknown').length
  const last = results.at(-1)
  if (unknowns === 0 || !last) return {}
  if (last.kind === 'attempt-rejected' && last.code !== 'evidence_not_sent')
    return { refusedN: String(last.facts['attempt']) }
  const taken = takenOut(view)
  if (taken) return taken
  if (unknowns > 1) return { unknowns: String(unknowns) }
  return { status: /HTTP (\d{3})/.exec(last.words ?? '')?.[1], wait: evidenceWait(timeline) }
}

/** While it waited to be sent once more; null: an attempt ended it. */
function takenOut(view: MessageTimeline): SentenceFacts | null {
  const { timeline, block, removed, asOf } = view
  const settled = timeline.findLast(({ kind }) => kind === 'settled')
  if (!settled || timeline.some((entry) => endsAttempt(entry) && entry.at === settled.at)) return null
  if (settled.code === TOO_LATE) return { tooLate: atText(settled.at, asOf) }
  if (removed && removed.at <= settled.at) return { removedAt: atText(removed.at, asOf) }
  return block && block.at <= settled.at ? { blockedAt: atText(block.at, asOf) } : null
}

/** Kept where its time was over: the limit of today may be another than that of then. */
const TOO_LATE: ReasonCode = 'time_to_live_over'

function endsAttempt({ kind }: TimelineEntry): boolean {
  return kind === 'evidence' || (kind.startsWith('attempt-') && kind !== 'attempt-begun')
}

/** How long a report was awaited in vain. */
function evidenceWait(timeline: Timeline): string | undefined {
  const none = timeline.findLast(({ kind }) => kind === 'evidence')
  const broke = timeline.findLast(({ kind }) => kind === 'attempt-unknown')
  return none && broke && none.at > broke.at ? durationText(none.at - broke.at) : undefined
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
function causeOfLast(view: MessageTimeline): string | undefined {
  const { timeline, channel, message } = view
  const last = timeline.findLast(({ kind }) => kind === 'attempt-rejected' || kind === 'media-retry')
  if (!last?.code) return undefined
  const facts = { number: message.connection, to: recipientOf(view) }
  return explainReason(last.code, { words: last.words, channel, facts }).cause
}

function count(value: number): string {
  return value.toLocaleString('en')
}
