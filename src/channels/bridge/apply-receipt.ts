import type { Instant } from '../../core/ids.ts'
import type { ChannelEvents, ReceiptEnd } from '../../core/ports/channel.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import { bridgeReason, SENT_AFTER_REJECTION } from '../../core/reasons/bridge.ts'
import type { Echoes } from '../receipts/echoes.ts'
import type { ReportOf } from '../receipts/report-queue.ts'
import type { BrokenPromises } from './broken-promises.ts'
import { BRIDGE } from './name.ts'
import { type AdapterReceipt, storedNetworkId } from './protocol.ts'
import type { RejectedAttempts } from './rejected-attempts.ts'

interface ApplyParts {
  readonly events: ChannelEvents
  readonly echoes: Echoes
  readonly rejectedAttempts: RejectedAttempts
  readonly brokenPromises: BrokenPromises
  readonly note: (event: JournalEvent) => void
}

// Signatures fail when clocks differ by more than five minutes. Gateways report for days.
const MOST_AHEAD_MS = 5 * 60_000
const MOST_BEHIND_MS = 38 * 24 * 3_600_000

/** Applies one receipt as far as is possible now. It may run twice, in several processes at once, and be broken off anywhere. */
export async function applyReceipt(
  { events, echoes, rejectedAttempts, brokenPromises, note }: ApplyParts,
  { report, receivedAt }: ReportOf<AdapterReceipt>,
  now: Instant,
): Promise<'done' | 'later'> {
  const { connectionId, messageId, attemptNumber, kind } = report
  const networkId = report.networkId && storedNetworkId(report.networkId)
  // Asked before the report is applied, so that each repeat of it gets the same code.
  const wasRejected = kind !== 'failed' && (await rejectedAttempts.has(report))
  const code = report.code === null ? null : bridgeReason(report.code)
  const end: ReceiptEnd = await events.offerReceipt({
    connectionId,
    messageId,
    attemptNumber,
    kind,
    at: timeOf(report.at, receivedAt),
    networkId,
    code: wasRejected ? SENT_AFTER_REJECTION : (code?.reason ?? null),
    words: code?.code ? `(${code.code}) ${report.words ?? ''}`.trim() : report.words,
  })
  if (wasRejected && end !== 'message-unknown' && end !== 'too-early')
    await brokenPromises.keep('sent-after-rejection', report)
  if (end === 'contradicted') await brokenPromises.keep('contradiction', report)
  if (end === 'second-id') await brokenPromises.keep('second-id', report)
  // The attempt is still open, so the result of the call is not known yet. But now there is evidence of it (G5).
  if (end === 'too-early')
    await echoes.keep(connectionId, report, {
      networkId: networkId ?? storedNetworkId(`${messageId}_${attemptNumber}`),
      now,
    })
  if (end !== 'too-early') note({ event: 'callback.applied', channel: BRIDGE, kind, end })
  return end === 'too-early' ? 'later' : 'done'
}

/** The adapter's time if it is plausible, else that at which the report came. Both are the same in each repeat. */
function timeOf(at: Instant | null, receivedAt: Instant): Instant {
  return at !== null && at <= receivedAt + MOST_AHEAD_MS && at >= receivedAt - MOST_BEHIND_MS ? at : receivedAt
}
