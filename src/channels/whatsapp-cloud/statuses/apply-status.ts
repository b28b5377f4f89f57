import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { ChannelEvents, Receipt, ReceiptEnd } from '../../../core/ports/channel.ts'
import type { ChannelConnections } from '../../../core/ports/channel-connections.ts'
import { whatsAppCloudReason } from '../../../core/reasons/whatsapp-cloud.ts'
import type { Echoes } from '../../receipts/echoes.ts'
import { readWhatsAppCloudSettings, templateKindOf } from '../settings.ts'
import type { WindowNews } from './connection-news.ts'
import { type CorrelationData, readCorrelationData } from './correlation-data.ts'
import type { Repeats } from './repeats.ts'
import { WINDOW_CLOSED } from './report-cost.ts'
import type { ReportedStatus } from './reported.ts'

// After this time a refused message is left to a person: its recipient no longer expects it.
const SENT_AGAIN_WITHIN_MS = 24 * 3_600_000
// A call ends, and its outcome is recorded with Meta's id, well within this time.
const ID_KNOWN_WITHIN_MS = 2 * 60_000

interface ApplyParts {
  readonly events: ChannelEvents
  readonly echoes: Echoes
  readonly repeats: Repeats
  readonly windows: Pick<WindowNews, 'close'>
  readonly connections: ChannelConnections
  /** Messages that this run has tried to send again. Once for each is enough, because each try costs a query. */
  readonly visited: Set<MessageId>
}

/** A status, and the connections whose message it may be about. */
export interface StatusOf {
  readonly connectionId: ConnectionId
  readonly others: readonly ConnectionId[]
  readonly status: ReportedStatus
  readonly receivedAt: Instant
}

/**
 * Applies one status as far as is possible now. It may run twice, in several processes at once, and be broken off anywhere:
 * a repeat finds what was done and does the rest. Rejects when storage is unavailable.
 */
export async function applyStatus(parts: ApplyParts, given: StatusOf, now: Instant): Promise<ReceiptEnd> {
  const { status, receivedAt } = given
  const opaque = readCorrelationData(status.opaque)
  const at = receiptTime(status.at, receivedAt, opaque)
  const { end, connectionId } = await offer(parts.events, given, (id) => toReceipt(id, status, { opaque, at }))
  // The attempt is still open, so the result of the call is not known yet. But now there is evidence of it (G5).
  if (end === 'too-early' && opaque) await parts.echoes.keep(connectionId, opaque, { networkId: status.wamid, now })
  if (end === 'applied' && status.kind === 'failed' && status.code === WINDOW_CLOSED)
    await afterClosedWindow(parts, { connectionId, status, opaque, at, receivedAt })
  const mayBeEarly = end === 'message-unknown' && status.kind === 'failed' && !opaque
  // Meta does not promise to return our mark with a failure. Without it a message is found by Meta's id, which is recorded
  // when the attempt ends.
  return mayBeEarly && now - receivedAt < ID_KNOWN_WITHIN_MS ? 'too-early' : end
}

/** Offers it to the connection that has the number now, then to those that had it before. */
async function offer(
  events: ChannelEvents,
  { connectionId, others }: StatusOf,
  toReceiptOf: (id: ConnectionId) => Receipt,
): Promise<{ readonly end: ReceiptEnd; readonly connectionId: ConnectionId }> {
  for (const id of [connectionId, ...others]) {
    const end = await events.offerReceipt(toReceiptOf(id))
    if (end !== 'message-unknown') return { end, connectionId: id }
  }
  return { end: 'message-unknown', connectionId }
}

function toReceipt(
  connectionId: ConnectionId,
  { kind, wamid, code, words }: ReportedStatus,
  { opaque, at }: { readonly opaque: CorrelationData | null; readonly at: Instant },
): Receipt {
  return {
    connectionId,
    messageId: opaque?.messageId ?? null,
    attemptNumber: opaque?.attemptNumber ?? null,
    kind,
    at,
    networkId: wamid,
    code: kind === 'failed' && code !== null ? whatsAppCloudReason(code) : null,
    words,
  }
}

interface ClosedWindow {
  readonly connectionId: ConnectionId
  readonly status: ReportedStatus
  readonly opaque: CorrelationData | null
  readonly at: Instant
  readonly receivedAt: Instant
}

async function afterClosedWindow(
  { events, windows, connections, repeats, visited }: ApplyParts,
  { connectionId, status, opaque, at, receivedAt }: ClosedWindow,
): Promise<void> {
  // First, so that the message goes as a template when it is sent again.
  const recipient = status.recipient ?? opaque?.recipient ?? null
  if (recipient !== null) await windows.close(connectionId, recipient, at)
  if (!opaque || receivedAt - at > SENT_AGAIN_WITHIN_MS || visited.has(opaque.messageId)) return
  const connection = await connections.find(connectionId)
  if (!connection || connection.isRemoved) return
  const { templates } = readWhatsAppCloudSettings(connection.settings)
  const { messageId } = opaque
  if (!isCarried(opaque, Object.keys(templates)) || visited.has(messageId)) return
  visited.add(messageId)
  if (await repeats.has(connectionId, messageId)) return
  const repeat = await events.sendAgain({ connectionId, messageId, reason: whatsAppCloudReason(WINDOW_CLOSED) })
  if (repeat === null) return
  // The repeat is kept first. If the second write is lost, the next report costs one more try, which finds it sent already.
  await repeats.keep(connectionId, repeat, receivedAt)
  await repeats.keep(connectionId, messageId, receivedAt)
}

/** Whether a template can carry the message. If it was one already, it would be refused again, and so on for ever. */
function isCarried({ form }: CorrelationData, kinds: readonly string[]): boolean {
  if (form === 'template') return false
  const kind = form && templateKindOf(form)
  return form === null ? kinds.length > 0 : kind !== null && kinds.includes(kind)
}

// Clocks differ by seconds. The rest is harmless: it only lets a reported time lie a little ahead.
const MOST_AHEAD_MS = 5 * 60_000
// Undelivered messages are retried for 30 days (page “Send messages”), and callbacks for 7 (page “Webhooks: overview”).
const MOST_BEHIND_MS = 38 * 24 * 3_600_000
const TIMED_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-7/

/**
 * When it happened, by Meta's clock. An impossible time is replaced by the time when our message was made, not by the time
 * of arrival: a report is recognised by its time, so it must get the same one each time it comes.
 */
export function receiptTime(reportedAt: Instant | null, receivedAt: Instant, opaque: CorrelationData | null): Instant {
  if (reportedAt !== null && reportedAt <= receivedAt + MOST_AHEAD_MS && reportedAt >= receivedAt - MOST_BEHIND_MS)
    return reportedAt
  const [, high, low] = TIMED_ID.exec(opaque?.messageId ?? '') ?? []
  const madeAt = high && low ? Number.parseInt(high + low, 16) : Number.POSITIVE_INFINITY
  return madeAt <= receivedAt + MOST_AHEAD_MS ? madeAt : receivedAt
}
