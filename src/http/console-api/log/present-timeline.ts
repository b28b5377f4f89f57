import type { LogDetail } from '../../../contract/console/log.ts'
import type { Role } from '../../../contract/console/route.ts'
import { ERASED } from '../../../core/message/erased.ts'
import type { LogTimeline } from '../../../core/ports/console/api-log.ts'
import { timelineTitle } from '../../../core/sentences/explain-entry.ts'
import { explainMessage } from '../../../core/sentences/explain-message.ts'
import { explainNoResend, resendFactsOf } from '../../../core/sentences/explain-no-resend.ts'
import { refusalStep } from '../../../core/sentences/explain-refusal.ts'
import { explainEndedToken } from '../../../core/token/token.ts'
import { presentEntry } from './present-entry.ts'
import { presentReply, presentRequest } from './present-exchange.ts'
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
    nextSteps: timeline.entry.errors.map(({ code }) => refusalStep(code)),
    sentence: presentSentence(timeline),
    note: presentNote(timeline),
    short: presentShort(timeline),
    content: timeline.content,
    bodyDeletedAt: timeline.bodyDeletedAt,
    request: presentRequest(timeline, publicUrl),
    reply: presentReply(timeline),
    message: presentMessage(timeline, role),
    timeline: message ? presentTimelineEntry(message) : [],
    media,
  }
}

function presentMessage(timeline: LogTimeline, role: Role): LogDetail['message'] {
  const { message: view, connection } = timeline
  if (!view || !connection) return null
  const { message } = view
  const explained = explainMessage(view)
  const { code, list, cause, quote, until, opens, other } = explained
  return {
    id: message.id,
    state: message.state,
    acceptedAt: message.acceptedAt,
    code,
    list,
    cause,
    nextStep: stepFor(role, explained),
    quote,
    until,
    opens,
    other,
    position: view.position,
    waitsFor: view.waitsFor?.id ?? null,
    expiresAt: view.expiresAt,
    connection,
    resendOf: view.resendOf,
    resentAs: view.resentAs,
    actions: role === 'viewer' ? [] : actionsOf(timeline),
  }
}

/** Viewers have no buttons. */
function stepFor(role: Role, { nextStep, command, opens }: ReturnType<typeof explainMessage>): string {
  const isDone = nextStep === '' || nextStep.startsWith('You need not do anything')
  if (role !== 'viewer' || isDone || (command === null && opens === null)) return nextStep
  return `${nextStep} Ask a developer or owner of this account.`
}

function actionsOf({
  message,
  isUnresolved,
  bodyDeletedAt,
}: LogTimeline): NonNullable<LogDetail['message']>['actions'] {
  const { state, reason } = message?.message ?? {}
  if (state === 'QUEUED') return reason === 'retrying' ? ['retry-now', 'cancel'] : ['cancel']
  if (isUnresolved && message) return decisionsOn(message)
  const isOver = state === 'FAILED' || state === 'EXPIRED' || state === 'CANCELLED'
  if (!isOver || message?.resentAs !== null) return []
  // Without its content or recipient the message cannot be sent again.
  const isWhole =
    bodyDeletedAt === null &&
    message.message.to !== ERASED &&
    (message.connectionState !== 'removed' || message.hasSuccessor)
  if (!isWhole || !explainMessage(message).canRetry) return []
  // A message to it would fail again.
  return [message.block ? 'unblock' : 'retry']
}

function decisionsOn(view: NonNullable<LogTimeline['message']>): NonNullable<LogDetail['message']>['actions'] {
  const bar = explainNoResend(view.message, resendFactsOf(view))
  if (bar === null) return ['mark-arrived', 'send-again']
  return bar.opens === 'recipients' ? ['mark-arrived', 'unblock'] : ['mark-arrived']
}

function presentSentence(timeline: LogTimeline): string {
  const { entry, message } = timeline
  if (entry.outcome === 'refused') return refusedSentence(timeline)
  return message ? explainMessage(message).sentence : 'This message is no longer kept.'
}

function presentShort({ entry, message }: LogTimeline): string {
  if (entry.outcome === 'refused') return 'not accepted'
  return message ? explainMessage(message).short : 'no longer kept'
}

function presentNote({ entry, message }: LogTimeline): string | null {
  if (entry.outcome === 'repeated') return 'Asked again with the same key, so nothing was queued twice.'
  if (entry.outcome !== 'copied') return null
  const made = message?.timeline.find(({ kind, facts }) => kind === 'sent-again' && 'oldMessage' in facts)
  return `${made && message ? timelineTitle(made, message) : 'Made to repeat another message'}.`
}

function refusedSentence({ entry, endedToken }: LogTimeline): string {
  const [first] = entry.errors
  const wrong = endedToken ? explainEndedToken(endedToken) : (first?.message ?? '')
  if (entry.summed) return `${summedText(entry.status, entry.summed)} ${wrong}`.trim()
  // The errors are listed beside this sentence, except what became of the token.
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
