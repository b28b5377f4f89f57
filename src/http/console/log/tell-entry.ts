import type { LogEntry } from '../../../contract/console/log.ts'
import { REPLIES } from '../../../contract/replies.ts'
import type { LogEntryView } from '../../../core/ports/console/api-log.ts'
import { explainReason } from '../../../core/reasons.ts'
import { maskErrors, maskNumber } from './mask.ts'

/** An entry of the log as the console shows it. */
export function tellEntry(entry: LogEntryView, isMasked: boolean): LogEntry {
  const { errors, to, token, reason } = entry
  const isOwnText = entry.outcome === 'refused'
  return {
    id: entry.id,
    requestId: entry.requestId,
    receivedAt: entry.receivedAt,
    status: entry.status,
    code: entry.code,
    name: entry.code === null ? null : nameOf(entry.code),
    outcome: entry.outcome,
    errors: [...(isMasked ? maskErrors(errors) : errors)],
    messageId: entry.messageId,
    state: entry.state,
    reason: reason === null ? null : { code: reason, meaning: explainReason(reason).sentence },
    // What a caller wrote may be anything, also the recipient in the wrong place.
    from: isMasked && isOwnText && entry.connection !== null ? maskForeign(entry.connection) : entry.connection,
    to: isMasked && to !== null ? maskNumber(to) : to,
    type: entry.type,
    connectionId: entry.connectionId,
    token: token && { id: token.id, name: token.name },
    tookMs: entry.tookMs,
    attempts: entry.attempts,
    summed: entry.summed,
  }
}

function maskForeign(from: string): string {
  return /^\d{7,15}$/.test(from) ? from : maskNumber(from)
}

/** Such as `bad_request_400`. A code of a newer version reads as itself. */
export function nameOf(code: string): string {
  return Object.values(REPLIES).find((reply) => reply.code === code)?.name ?? code
}
