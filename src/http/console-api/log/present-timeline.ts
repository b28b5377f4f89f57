import type { LogDetail } from '../../../contract/console/log.ts'
import type { Role } from '../../../contract/console/route.ts'
import { explainDealtWith } from '../../../core/message/dealt-with.ts'
import { ERASED } from '../../../core/message/erased.ts'
import { repeatText } from '../../../core/message/timeline.ts'
import type { LogTimeline } from '../../../core/ports/console/api-log.ts'
import { explainEndedToken } from '../../../core/token/token.ts'
import { presentAnswer } from './present-answer.ts'
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
    short: presentShort(timeline),
    content: timeline.content,
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
    waitsFor: view.waitsFor,
    expiresAt: view.expiresAt,
    connection,
    resendOf: view.resendOf,
    resentAs: view.resentAs,
    actions: role === 'viewer' ? [] : actionsOf(timeline),
  }
}

function actionsOf({
  message,
  isUnresolved,
  bodyDeletedAt,
}: LogTimeline): NonNullable<LogDetail['message']>['actions'] {
  const { state, reason } = message?.message ?? {}
  if (state === 'QUEUED') return reason === 'retrying' ? ['retry-now', 'cancel'] : ['cancel']
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
  const became = stateSentence(timeline)
  if (entry.outcome === 'repeated') {
    return `${became} Asked again with the same key, so nothing was queued twice.`
  }
  if (entry.outcome !== 'copied') return became
  const warning = message?.repeatsWhatLeft
    ? ' The message that it repeats has left after all: cancel this one, or the recipient may get both.'
    : ''
  return `${copiedText(timeline)}. ${became}${warning}`
}

function presentShort({ entry, message, connection }: LogTimeline): string {
  if (entry.outcome === 'refused') return 'not accepted'
  return message ? presentAnswer(message, connection?.channel ?? null).short : 'no longer kept'
}

function copiedText({ message }: LogTimeline): string {
  const texts = message?.timeline.map(repeatText) ?? []
  return texts.find((text) => text !== null) ?? 'Made to repeat another message'
}

function refusedSentence({ entry, endedToken }: LogTimeline): string {
  const [first] = entry.errors
  const wrong = endedToken ? explainEndedToken(endedToken) : (first?.message ?? '')
  if (entry.summed) return `${summedText(entry.status, entry.summed)} ${wrong}`.trim()
  // What was wrong is listed beside it, but for what became of the token.
  return `Not accepted, so there is no message. ${endedToken ? wrong : ''}`.trim()
}

function summedText(status: number | null, { requests }: NonNullable<LogTimeline['entry']['summed']>): string {
  const which = requests === 1 ? '1 request was' : `${requests.toLocaleString('en')} requests were`
  const why =
    status === 503
      ? 'nothing could be written at that time'
      : 'the account was refused more within an hour than is kept'
  return `${which} refused like this, and not listed one by one: ${why}. What was wrong first:`
}

/** Whether the message was sent; its reason is shown beside it. */
function stateSentence({ message, connection }: LogTimeline): string {
  if (!message) return 'This message is no longer kept.'
  const { timeline } = message
  const isContradicted = timeline.some(({ kind }) => kind === 'receipt-contrary')
  const { sentence } = presentAnswer(message, connection?.channel ?? null)
  return `${sentence}${stoppedText(timeline)}${isContradicted ? ' But a report of the network does not fit this: see the timeline.' : ''}`
}

function stoppedText(timeline: NonNullable<LogTimeline['message']>['timeline']): string {
  const attempts = timeline.flatMap(({ kind, facts }) => (kind === 'recovered' ? [String(facts['attempt'])] : []))
  if (attempts.length === 0) return ''
  return ` Nuncio stopped during attempt ${attempts.join(', ')}, and asked the channel afterwards what became of it.`
}
