import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { LogRow, Scanned } from './backward-scan.ts'
import type { LogPosition } from './cursor.ts'

export interface TimedRow extends LogRow {
  readonly receivedAt: Instant
}

interface Merged<Row> {
  readonly rows: readonly Row[]
  readonly position: LogPosition
  readonly scannedBackTo: Instant | null
}

/**
 * Puts the two halves together by the time of arrival, newest first; of one moment the accepted one is the older,
 * because a repeat follows what it repeats. Where one half has not been looked through as far back as the other, it
 * stops: what stands there may yet be newer than what the other half has found.
 */
export function mergeHalves<Row extends TimedRow>(
  messages: Scanned<Row>,
  requests: Scanned<Row>,
  limit: number,
): Merged<Row> {
  const rows: Row[] = []
  let [atMessage, atRequest] = [0, 0]
  let stoppedAt: Instant | null = null
  while (rows.length < limit) {
    const [message, request] = [messages.rows[atMessage], requests.rows[atRequest]]
    const isMessageNext = message && (!request || message.receivedAt > request.receivedAt)
    const next = isMessageNext ? message : request
    stoppedAt = notLookedAt(message ? null : messages, request ? null : requests)
    if (!next || (stoppedAt !== null && next.receivedAt < stoppedAt)) break
    rows.push(next)
    if (isMessageNext) atMessage += 1
    else atRequest += 1
  }
  const position = { messages: goOnFrom(messages, atMessage), requests: goOnFrom(requests, atRequest) }
  const isAll = position.messages === null && position.requests === null
  const scannedBackTo = rows.length < limit ? stoppedAt : (rows.at(-1)?.receivedAt ?? null)
  return { rows, position, scannedBackTo: isAll ? null : scannedBackTo }
}

/** The later of the times at which those halves end that have nothing more to give, but that go on further back. */
function notLookedAt(...spent: readonly (Scanned<unknown> | null)[]): Instant | null {
  const times = spent.flatMap((half) => (half && half.at !== null ? [half.at] : []))
  return times.length === 0 ? null : Math.max(...times)
}

function goOnFrom<Row extends TimedRow>({ rows, position }: Scanned<Row>, at: number): Sequence | null {
  const next = rows[at]
  return next ? next.sequence + 1 : position
}
