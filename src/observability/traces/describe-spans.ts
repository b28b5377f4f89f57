import type { Instant, MessageId } from '../../core/ids.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import type { PlainSpan, SpanEvent } from './plain-span.ts'
import { type RemoteSpan, spanIdOf, traceIdOf } from './trace-ids.ts'

type EventOf<Name extends JournalEvent['event']> = Extract<JournalEvent, { event: Name }>

/** A message that was accepted, as the endpoint reports it. */
export interface Accepted {
  readonly messageId: MessageId
  readonly connectionId: string
  readonly requestId: string
  readonly type: string
  readonly receivedAt: Instant
  /** From its arrival until the request was fully checked, and storage was asked. */
  readonly checkedAfterMs: number
  /** From its arrival until storage had committed it. */
  readonly committedAfterMs: number
  /** From its arrival until its reply was written. */
  readonly tookMs: number
}

/** The parent of all other spans of a message: the request that it came with. */
const ACCEPT = 'accept message'
const COMMIT = 'commit message'

export function spansOfAcceptance(accepted: Accepted, link: RemoteSpan | null): readonly PlainSpan[] {
  const { messageId, requestId, type, receivedAt, checkedAfterMs, committedAfterMs, tookMs } = accepted
  const whole = {
    ...spanOf(messageId, ACCEPT),
    parentSpanId: null,
    kind: 'server' as const,
    startedAt: receivedAt,
    endedAt: receivedAt + tookMs,
    attributes: {
      ...messagingAttributes(accepted, 'create'),
      'nuncio.request.id': requestId,
      'nuncio.message.type': type,
      'http.request.method': 'POST',
      'http.response.status_code': 200,
    },
    link,
  }
  const commit = {
    ...spanOf(messageId, COMMIT),
    startedAt: receivedAt + checkedAfterMs,
    endedAt: receivedAt + committedAfterMs,
  }
  return [whole, commit]
}

export function spanOfAttempt(event: EventOf<'attempt.finished'>): PlainSpan {
  const { messageId, channel, number, outcome, code, startedAt, tookMs, next } = event
  return {
    ...spanOf(messageId, attemptName(number)),
    name: 'attempt',
    kind: 'client',
    startedAt,
    endedAt: startedAt + tookMs,
    isError: outcome !== 'accepted',
    attributes: {
      ...messagingAttributes(event, 'send'),
      'nuncio.channel': channel,
      'nuncio.attempt.number': number,
      'nuncio.outcome': outcome,
      'nuncio.next': next,
      ...(code === null ? {} : { 'error.type': code }),
    },
  }
}

/** The time before an attempt: since the acceptance, or since the attempt before. */
export function spanOfWait(
  { messageId, number, startedAt }: EventOf<'attempt.finished'>,
  { since, entries }: { readonly since: Instant; readonly entries: readonly SpanEvent[] },
): PlainSpan {
  return {
    ...spanOf(messageId, `wait ${number}`),
    name: 'wait in the lane',
    startedAt: since,
    endedAt: startedAt,
    attributes: { 'nuncio.attempt.number': number },
    events: entries,
  }
}

/** A child of its attempt, although it comes after it: the commit of the attempt's outcome. */
export function spanOfStep(
  { messageId, number }: { readonly messageId: MessageId; readonly number: number },
  { startedAt, endedAt }: { readonly startedAt: Instant; readonly endedAt: Instant },
): PlainSpan {
  return {
    ...spanOf(messageId, `commit of ${attemptName(number)}`),
    parentSpanId: spanIdOf(messageId, attemptName(number)),
    name: 'commit outcome',
    startedAt,
    endedAt,
  }
}

export function spanOfFetch(event: EventOf<'media.fetched'> | EventOf<'media.failed'>, endedAt: Instant): PlainSpan {
  const { messageId, number, tookMs } = event
  return {
    ...spanOf(messageId, `fetch ${number}`),
    name: 'fetch media',
    kind: 'client',
    startedAt: endedAt - tookMs,
    endedAt,
    isError: event.event === 'media.failed',
    attributes: {
      'nuncio.fetch.number': number,
      ...(event.event === 'media.fetched'
        ? { 'nuncio.media.size_bytes': event.sizeBytes }
        : { 'error.type': event.code, 'nuncio.is_last': event.final }),
    },
  }
}

export function spanOfPreparing(event: EventOf<'message.prepared'>, endedAt: Instant): PlainSpan {
  const { messageId, channel, outcome, code, tookMs } = event
  const startedAt = endedAt - tookMs
  return {
    // It may be cut short and done again, before the same attempt.
    ...spanOf(messageId, `prepare ${startedAt}`),
    name: 'get ready',
    kind: 'client',
    startedAt,
    endedAt,
    isError: outcome === 'failed',
    attributes: {
      'nuncio.channel': channel,
      'nuncio.outcome': outcome,
      ...(code === null ? {} : { 'error.type': code }),
    },
  }
}

/** A message that ended without an attempt. */
export function spanOfDrop({ messageId, as, reason }: EventOf<'message.dropped'>, at: Instant): PlainSpan {
  return {
    ...spanOf(messageId, 'drop'),
    name: 'settled without an attempt',
    startedAt: at,
    endedAt: at,
    isError: true,
    attributes: { 'nuncio.next': as, 'error.type': reason },
  }
}

export function spanOfRecovery({ messageId, crashes }: EventOf<'attempt.recovered'>, at: Instant): PlainSpan {
  return {
    ...spanOf(messageId, `recovery ${crashes}`),
    name: 'attempt taken over',
    startedAt: at,
    endedAt: at,
    isError: true,
    attributes: { 'nuncio.crashes': crashes },
  }
}

function attemptName(number: number): string {
  return `attempt ${number}`
}

/** Named as OpenTelemetry's semantic conventions for messaging name them. */
function messagingAttributes(
  { messageId, connectionId }: { readonly messageId: string; readonly connectionId: string },
  operation: 'create' | 'send',
): PlainSpan['attributes'] {
  return {
    'messaging.system': 'nuncio',
    'messaging.operation.type': operation,
    'messaging.destination.name': connectionId,
    'messaging.message.id': messageId,
  }
}

/** What the spans of a message have in common; its times and all that differs come from the caller. */
function spanOf(messageId: MessageId, name: string): PlainSpan {
  return {
    traceId: traceIdOf(messageId),
    spanId: spanIdOf(messageId, name),
    parentSpanId: spanIdOf(messageId, ACCEPT),
    name,
    kind: 'internal',
    startedAt: 0,
    endedAt: 0,
    isError: false,
    attributes: {},
    events: [],
    link: null,
  }
}
