import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Scanned } from './backward-scan.ts'
import type { LogPosition } from './cursor.ts'
import type { LogRow } from './log-source.ts'

export interface TimedRow extends LogRow {
  readonly receivedAt: Instant
}

export interface Merged<Row> {
  readonly rows: readonly Row[]
  readonly position: LogPosition
  readonly scannedBackTo: Instant | null
}

/**
 * Merges the two sources by the time of arrival, newest first. Of two entries of the same time the accepted request is the
 * older, because a repeat follows its original. The page stops where one source was not scanned as far back as the other:
 * an unscanned row may be newer than the next row of the other source. Each source is in the order in which its rows were
 * stored, so after a clock was set back some entries appear too early; none is left out.
 */
export function mergeSources<Row extends TimedRow>(
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
    stoppedAt = unscannedFrom(message ? null : messages, request ? null : requests)
    if (!next || (stoppedAt !== null && next.receivedAt < stoppedAt)) break
    rows.push(next)
    if (isMessageNext) atMessage += 1
    else atRequest += 1
  }
  const position = { messages: nextPosition(messages, atMessage), requests: nextPosition(requests, atRequest) }
  const isAll = position.messages === null && position.requests === null
  const scannedBackTo = rows.length < limit ? stoppedAt : (rows.at(-1)?.receivedAt ?? null)
  return { rows, position, scannedBackTo: isAll ? null : scannedBackTo }
}

/** The later time at which a used-up source stopped scanning; null when no used-up source has older rows. */
function unscannedFrom(...usedUp: readonly (Scanned<unknown> | null)[]): Instant | null {
  const times = usedUp.flatMap((source) => (source && source.at !== null ? [source.at] : []))
  return times.length === 0 ? null : Math.max(...times)
}

function nextPosition<Row extends TimedRow>({ rows, position }: Scanned<Row>, at: number): Sequence | null {
  const next = rows[at]
  return next ? next.sequence + 1 : position
}
