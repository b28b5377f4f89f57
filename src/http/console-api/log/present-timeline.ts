import type { LogDetail } from '../../../contract/console/log.ts'
import type { Role } from '../../../contract/console/route.ts'
import { explainDealtWith } from '../../../core/message/dealt-with.ts'
import { ERASED } from '../../../core/message/erased.ts'
import { repeatText } from '../../../core/message/timeline.ts'
import type { LogTimeline } from '../../../core/ports/console/api-log.ts'
import { explainEndedToken } from '../../../core/token/token.ts'
import { presentEntry } from './present-entry.ts'
import { presentReply, presentRequest } from './present-exchange.ts'
import { presentReason } from './present-reason.ts'
import { presentTimelineEntry } from './present-timeline-entry.ts'

interface How {
  readonly publicUrl: string
  readonly role: Role
}

/** One entry of the log with everything known about it, as the console shows it. */
export function presentTimeline(timeline: LogTimeline, { publicUrl, role }: How): LogDetail {
  const { message, media } = timeline
  return {
    entry: presentEntry(timeline.entry),
    isMasked: role === 'viewer',
    sentence: presentSentence(timeline),
    bodyDeletedAt: timeline.bodyDeletedAt,
    request: presentRequest(timeline, publicUrl),
    reply: presentReply(timeline),
    message: presentMessage(timeline, role),
    timeline: message ? presentTimelineEntry(message.timeline, message.message.acceptedAt) : [],
    media,
  }
}

function presentMessage(timeline: LogTimeline, role: Role): LogDetail['message'] {
  const { message: view, connection } = timeline
  if (!view || !connection) return null
  const { message, reasonWords, laneWait } = view
  const dealtWith = explainDealtWith(view)
  const reason = message.reason === null ? null : presentReason(message.reason, reasonWords, message.state)
  const lane = laneWait && laneWait.reason !== message.reason ? laneWait : null
  return {
    id: message.id,
    state: message.state,
    acceptedAt: message.acceptedAt,
    reason: reason && { ...reason, nextStep: dealtWith?.nextStep ?? reason.nextStep },
    done: dealtWith?.done ?? null,
    lane: lane && { ...presentReason(lane.reason, lane.words), until: lane.until },
    reportsMissing: view.reportsMissing && {
      meaning: view.reportsMissing.cause,
      nextStep: view.reportsMissing.nextStep,
    },
    position: view.position,
    expiresAt: view.expiresAt,
    connection,
    resendOf: view.resendOf,
    resentAs: view.resentAs,
    actions: role === 'viewer' ? [] : actionsOf(timeline),
  }
}

function actionsOf({ message, isUnresolved, bodyDeletedAt }: LogTimeline): ('cancel' | 'retry' | 'resolve')[] {
  const { state } = message?.message ?? {}
  if (state === 'QUEUED') return ['cancel']
  if (isUnresolved) return ['resolve']
  const isOver = state === 'FAILED' || state === 'EXPIRED' || state === 'CANCELLED'
  // Without its content or recipient the message cannot be sent again.
  const isWhole =
    bodyDeletedAt === null &&
    message?.message.to !== ERASED &&
    (message?.connectionState !== 'removed' || message.hasSuccessor)
  return isOver && message?.resentAs === null && isWhole ? ['retry'] : []
}

function presentSentence(timeline: LogTimeline): string {
  const { entry, message } = timeline
  if (entry.outcome === 'refused') return refusedSentence(timeline)
  const became = message ? stateSentence(message) : 'Its message is gone: it was kept for as long as the account wants.'
  if (entry.outcome === 'repeated') {
    return `Asked for again under the same idempotency key, so nothing was queued twice. ${became}`
  }
  if (entry.outcome !== 'copied') return became
  const warning = message?.repeatsWhatLeft
    ? ' The message that it repeats has left after all: cancel this one, or the recipient may get both.'
    : ''
  return `${copiedText(timeline)}. ${became}${warning}`
}

function copiedText({ message }: LogTimeline): string {
  const texts = message?.timeline.map(repeatText) ?? []
  return texts.find((text) => text !== null) ?? 'Made to repeat another message'
}

function refusedSentence({ entry, endedToken }: LogTimeline): string {
  const [first, ...others] = entry.errors
  const wrong = endedToken ? explainEndedToken(endedToken) : (first?.message ?? '')
  if (entry.summed) return `${summedText(entry.status, entry.summed)} ${wrong}`.trim()
  const more = others.length === 0 ? '' : ` And ${others.length} more.`
  return `Refused, so no message was made. ${wrong}${more}`.trim()
}

function summedText(status: number | null, { requests }: NonNullable<LogTimeline['entry']['summed']>): string {
  const which = requests === 1 ? '1 request was' : `${requests.toLocaleString('en')} requests were`
  const why =
    status === 503
      ? 'nothing could be written at that time'
      : 'the account was refused more within an hour than is kept'
  return `${which} refused like this, and not listed one by one: ${why}. What was wrong first:`
}

/** The state of a message in one sentence; its reason is shown beside it. */
function stateSentence(timeline: NonNullable<LogTimeline['message']>): string {
  const isContradicted = timeline.timeline.some(({ kind }) => kind === 'receipt-contrary')
  return `${becameSentence(timeline)}${stoppedText(timeline.timeline)}${isContradicted ? ' But a report of the network does not fit this: see the timeline.' : ''}`
}

function becameSentence({ message, timeline, position }: NonNullable<LogTimeline['message']>): string {
  const taken = takenText(message, timeline)
  switch (message.state) {
    case 'QUEUED':
      return position !== null && position > 1 ? `It waits at position ${position} of its lane.` : 'It waits.'
    case 'SENDING':
      if (message.reason === 'storage_unavailable')
        return 'It was being handed over. What became of it can be stored only when there is room again.'
      return message.reason === 'service_stopped' || message.reason === 'process_gone'
        ? 'Not known yet: Nuncio stopped while it was being sent.'
        : 'It is being handed over right now.'
    case 'PUBLISHED':
      return message.reason === 'marked_arrived' ? 'A person said that it arrived.' : `${taken}.`
    case 'DELIVERED':
      return `${taken}, and it was delivered${timeOf(timeline, 'receipt-delivered')}.`
    case 'READ':
      return `${taken}, and it was read${timeOf(timeline, 'receipt-read')}.`
    case 'FAILED':
      return 'It did not arrive.'
    case 'UNCONFIRMED':
      return 'It is unknown whether it arrived.'
    case 'EXPIRED':
      return 'It was not sent in time.'
    case 'CANCELLED':
      return 'It was cancelled and not sent.'
  }
}

function stoppedText(timeline: MessageView['timeline']): string {
  const attempts = timeline.flatMap(({ kind, facts }) => (kind === 'recovered' ? [String(facts['attempt'])] : []))
  if (attempts.length === 0) return ''
  return ` Nuncio stopped during attempt ${attempts.join(', ')}, and asked the channel afterwards what became of it.`
}

type MessageView = NonNullable<LogTimeline['message']>

function takenText(message: MessageView['message'], timeline: MessageView['timeline']): string {
  const after = takenAfter(message, timeline)
  const isByEvidence = timeline.some(({ kind, code }) => kind === 'attempt-accepted' && code === 'evidence_found')
  return isByEvidence
    ? `The result of the attempt was unknown, until a report${after} showed that the network has it`
    : `The network took it${after}`
}

/** Empty when the time is only that at which a person marked the message as arrived. */
function takenAfter({ acceptedAt, publishedAt }: MessageView['message'], timeline: MessageView['timeline']): string {
  const isPersonsWord = timeline.some(({ code, at }) => code === 'marked_arrived' && at === publishedAt)
  return publishedAt === null || isPersonsWord ? '' : afterText(publishedAt - acceptedAt)
}

function timeOf(timeline: MessageView['timeline'], kind: string): string {
  const found = timeline.find((entry) => entry.kind === kind)
  const [accepted] = timeline
  if (!found || !accepted) return ''
  return afterText(Number(found.facts['networkTime'] ?? found.at) < accepted.at ? -1 : found.at - accepted.at)
}

/** Empty when the time is before acceptance: the network’s clock is behind ours, or ours was set back. */
function afterText(ms: number): string {
  return ms < 0 ? '' : ` ${spanText(ms)} after it was accepted`
}

function spanText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return ms < 3_600_000 ? `${(ms / 60_000).toFixed(1)} min` : `${(ms / 3_600_000).toFixed(1)} h`
}
