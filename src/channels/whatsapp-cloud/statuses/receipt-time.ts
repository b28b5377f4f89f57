import type { Instant } from '../../../core/ids.ts'
import type { CorrelationData } from './correlation-data.ts'

// Clocks differ. Seconds would do; more of it only lets a stated time lie a little ahead.
const MOST_AHEAD_MS = 5 * 60_000
// Undelivered messages are retried for 30 days (page “Send messages”), and callbacks for 7 (page “Webhooks: overview”).
const MOST_BEHIND_MS = 38 * 24 * 3_600_000
const TIMED_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-7/

/**
 * When it happened, by Meta's own clock. A time that cannot be gives way to the one at which our message was made, because
 * a report is known by its time: the same report brought again must have the same one, whenever it comes.
 */
export function receiptTime(reportedAt: Instant | null, receivedAt: Instant, opaque: CorrelationData | null): Instant {
  if (reportedAt !== null && reportedAt <= receivedAt + MOST_AHEAD_MS && reportedAt >= receivedAt - MOST_BEHIND_MS)
    return reportedAt
  const [, high, low] = TIMED_ID.exec(opaque?.messageId ?? '') ?? []
  const madeAt = high && low ? Number.parseInt(high + low, 16) : Number.POSITIVE_INFINITY
  return madeAt <= receivedAt + MOST_AHEAD_MS ? madeAt : receivedAt
}
