import type { Instant } from '../../core/ids.ts'
import type {
  AccountView,
  ConnectionView,
  HeldLaneView,
  MessageTimeline,
  MessageView,
  RequestTimeline,
  RequestView,
  TimelineEntry,
  TokenView,
  WorkerView,
} from '../../core/ports/administration.ts'
import type { ConnectionFact, TemplateView } from '../../core/ports/channel-onboarding.ts'
import type { CallbackAddress } from '../../core/ports/connection-service.ts'
import type { AlarmView } from '../../core/ports/console/alarms.ts'
import type { DeviceSessionView, SessionRequestView } from '../../core/ports/console/device-sessions.ts'
import type { Block } from '../../core/ports/recipients.ts'
import type { DeliveryRow, WebhookView } from '../../core/ports/webhooks.ts'
import { withCommand } from '../../core/reasons.ts'
import { renderRemedy } from '../../core/render-remedy.ts'
import { explainEntry, timelineTitle } from '../../core/sentences/explain-entry.ts'
import { explainMessage } from '../../core/sentences/explain-message.ts'
import { explainRequestEnd, explainSession } from '../../core/sentences/explain-session.ts'
import { isoTime } from '../../format/instants.ts'
import type { Finding } from '../../operations/doctor/finding.ts'
import type { InboxEntry } from '../../server/wiring/open-administration.ts'

// What --json prints. Programs rely on it: fields may be added, never renamed or taken away.

export function accountJson({ id, name, createdAt }: AccountView) {
  return { id, name, createdAt: isoTime(createdAt) }
}

export function connectionJson(view: ConnectionView) {
  const { id, number, name, account, channel, state, waiting, oldestWaitingAt, reason } = view
  return { id, number, name, account, channel, state, waiting, oldestWaitingAt: isoTime(oldestWaitingAt), reason }
}

/** `number` null: its person was erased. */
export function blockJson({ recipient, reason, since, blockedBy }: Block) {
  return { number: recipient, reason, since: isoTime(since), by: blockedBy }
}

/** What `--json` prints about the network of a connection. */
export function networkJson({
  facts,
  callback,
}: {
  readonly facts: readonly ConnectionFact[]
  readonly callback: CallbackAddress | null
}) {
  return {
    facts: facts.map(({ label, value, tone }) => ({ label, value, tone })),
    callback: callback && { ...callback, lastReportAt: isoTime(callback.lastReportAt) },
  }
}

/** One step of a request about a session. `code`: to show to the phone or to type into it. */
export function sessionRequestJson(
  { progress, kind }: SessionRequestView,
  {
    connection,
    code,
  }: { readonly connection: Pick<ConnectionView, 'number' | 'waiting'>; readonly code: string | null },
) {
  const { number, waiting } = connection
  const { state, shown, end, detail } = progress
  return {
    state,
    code,
    shown: shown ? { ...shown, until: isoTime(shown.until) } : null,
    end: end ?? null,
    detail: detail ?? null,
    sentence:
      state === 'ended' ? explainRequestEnd({ number, kind, hasWaiting: waiting > 0 }, progress).sentence : null,
  }
}

export function deviceSessionJson(number: string, view: DeviceSessionView | null, now: Instant) {
  const login = view?.lastLogin ?? null
  return {
    status: view?.status ?? 'unlinked',
    sentence: explainSession(number, view, now).sentence,
    since: isoTime(view?.since ?? null),
    isLinked: view?.isLinked ?? false,
    device: login?.device ?? null,
    lastLoginAt: isoTime(login?.at ?? null),
    version: login?.version ?? null,
  }
}

export function templateJson({ name, language, status, category, header, body, fits, why }: TemplateView) {
  return { name, language, status, category, header, body, fits, why }
}

export function tokenJson(view: TokenView) {
  const { id, name, prefix, events, expiresAt, lastUsedAt, deletedAt } = view
  return {
    id,
    name,
    prefix,
    events,
    expiresAt: isoTime(expiresAt),
    lastUsedAt: isoTime(lastUsedAt),
    deletedAt: isoTime(deletedAt),
  }
}

export function alarmJson(view: AlarmView) {
  const { id, kind, severity, of, object, name, account, since, raisedAt, cause } = view
  const times = { since: isoTime(since), raisedAt: isoTime(raisedAt) }
  return { id, kind, severity, of, object, name, account, ...times, cause, nextStep: withCommand(view) }
}

export function messageJson(view: MessageView) {
  const { id, account, connection, to, type, state, reason, attempts, acceptedAt, publishedAt } = view
  return {
    id,
    account,
    connection,
    to,
    type,
    state,
    reason,
    attempts,
    acceptedAt: isoTime(acceptedAt),
    publishedAt: isoTime(publishedAt),
  }
}

export function inboxJson(entry: InboxEntry) {
  const { messageId, connection, to, type, text, caption, name, sizeBytes, sha256, deliveredAt } = entry
  return { messageId, connection, to, type, text, caption, name, sizeBytes, sha256, deliveredAt: isoTime(deliveredAt) }
}

/** What to do about a message, with the command to type. */
export function nextStepText({ message }: MessageTimeline, explained: ReturnType<typeof explainMessage>): string {
  const { connection: number, to: recipient, id: messageId } = message
  return renderRemedy(withCommand(explained), { number, recipient, messageId })
}

export function timelineJson(timeline: MessageTimeline) {
  const { message, laneWait, resendOf, resentAs, requestId, tokenName, position, connectionState, reasonWords } =
    timeline
  const explained = explainMessage(timeline)
  return {
    ...messageJson(message),
    sentence: explained.sentence,
    reasonText: explained.cause,
    reasonWords,
    nextStep: explained.cause === null ? null : nextStepText(timeline, explained),
    requestId,
    token: tokenName,
    position,
    waitsFor: timeline.waitsFor?.id ?? null,
    laneWait: laneWait && { ...laneWait, until: isoTime(laneWait.until) },
    reportsMissing: timeline.reportsMissing,
    connectionState,
    expiresAt: isoTime(timeline.expiresAt),
    bodyDeletedAt: isoTime(timeline.bodyDeletedAt),
    resendOf,
    resentAs,
    timeline: timeline.timeline.map((entry) => timelineEntryJson(entry, timeline)),
  }
}

export function requestJson(view: RequestView) {
  const { requestId, account, token, receivedAt, status, code, outcome, errors, messageId, state } = view
  const { connection, to, type, remoteAddress, userAgent, tookMs, summed } = view
  return {
    requestId,
    account,
    token,
    receivedAt: isoTime(receivedAt),
    status,
    code,
    outcome,
    errors,
    messageId,
    state,
    connection,
    to,
    type,
    remoteAddress,
    userAgent,
    tookMs,
    summed: summed && { requests: summed.requests, since: isoTime(summed.since) },
  }
}

export function requestTimelineJson(timeline: RequestTimeline) {
  const { endedToken, body, bodyDeletedAt } = timeline
  return {
    ...requestJson(timeline),
    endedToken: endedToken && { ...endedToken, at: isoTime(endedToken.at) },
    body,
    bodyDeletedAt: isoTime(bodyDeletedAt),
  }
}

export function workerJson(view: WorkerView) {
  const { id, isAlive, host, pid, roles, version, startedAt, lastHeartbeatAt, lanes, busyLanes } = view
  return {
    id,
    state: aliveOrGone(isAlive),
    host,
    pid,
    roles,
    version,
    startedAt: isoTime(startedAt),
    lastHeartbeatAt: isoTime(lastHeartbeatAt),
    lanes,
    busyLanes,
  }
}

export function heldLaneJson({ connection, account, worker, isHolderAlive, waiting }: HeldLaneView) {
  return { connection, account, worker, workerState: aliveOrGone(isHolderAlive), waiting }
}

export function findingJson({ check, status, sentence, nextStep, facts }: Finding) {
  return { check, status, sentence, nextStep, facts }
}

export function aliveOrGone(isAlive: boolean): 'alive' | 'gone' {
  return isAlive ? 'alive' : 'gone'
}

function timelineEntryJson(entry: TimelineEntry, of: MessageTimeline) {
  const { at, kind, code, words, facts } = entry
  return {
    at: isoTime(at),
    kind,
    text: timelineTitle(entry, of),
    code,
    codeText: explainEntry(entry, of).cause,
    words,
    facts,
  }
}

export function webhookJson(view: WebhookView) {
  const { id, accountId, url, description, kinds, state, stateReason, isFailing, retrying, lastDay, dropped } = view
  return {
    id,
    accountId,
    url,
    description,
    notices: kinds,
    state,
    stateReason,
    failingSince: isoTime(view.failingSince),
    failing: isFailing,
    retrying: retrying && {
      ...retrying,
      nextTryAt: isoTime(retrying.nextTryAt),
      givenUpAt: isoTime(retrying.givenUpAt),
    },
    lastDeliveredAt: isoTime(view.lastDeliveredAt),
    lastDay,
    dropped,
  }
}

export function deliveryJson(row: DeliveryRow) {
  const { position, notificationId, kind, state, tries, createdAt, nextTryAt, endedAt, lastStatus, lastCode } = row
  return {
    delivery: position,
    webhookId: notificationId,
    notice: kind,
    state,
    tries,
    createdAt: isoTime(createdAt),
    nextTryAt: isoTime(nextTryAt),
    endedAt: isoTime(endedAt),
    lastStatus,
    lastCode,
  }
}
