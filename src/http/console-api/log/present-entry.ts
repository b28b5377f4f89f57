import type { LogEntry, LogRow } from '../../../contract/console/log.ts'
import { REPLIES } from '../../../contract/reply-table.ts'
import { ERASED } from '../../../core/message/erased.ts'
import type { LogEntryView } from '../../../core/ports/console/api-log.ts'
import { explainReason } from '../../../core/reasons.ts'
import { refusalList } from '../../../core/sentences/explain-refusal.ts'
import { nameActor } from '../../../format/name-actor.ts'

/** An entry of the log as the console shows it. */
export function presentEntry(entry: LogEntryView): LogEntry {
  const { token, reason } = entry
  return {
    id: entry.id,
    requestId: entry.requestId,
    receivedAt: entry.receivedAt,
    status: entry.status,
    code: entry.code,
    name: entry.code === null ? null : nameOf(entry.code),
    outcome: entry.outcome,
    madeBy: entry.madeBy && nameActor(entry.madeBy),
    resentBy: entry.resentBy && nameActor(entry.resentBy),
    errors: entry.errors.map((error) => ({ ...error, list: refusalList(error.code) })),
    messageId: entry.messageId,
    state: entry.state,
    reason: reason === null ? null : presentReason(reason, entry),
    from: entry.connection,
    to: entry.to,
    type: entry.type,
    connectionId: entry.connectionId,
    token: token && {
      id: token.id,
      name: token.name,
      isDeleted: token.deletedAt !== null && token.deletedAt <= entry.receivedAt,
    },
    tookMs: entry.tookMs,
    attempts: entry.attempts,
    summed: entry.summed,
  }
}

function presentReason(
  code: string,
  { state, channel, connection, to, reasonWords: words }: LogEntryView,
): LogEntry['reason'] {
  const facts = { number: connection ?? undefined, to: to === ERASED ? undefined : (to ?? undefined) }
  const { cause: meaning, list } = explainReason(code, { state, channel, words, facts })
  return { code, meaning, list }
}

/** The same in the list. */
export function presentRow(entry: LogEntryView): LogRow {
  const { connectionName, preview, isPaused, sentAfterMs } = entry
  return { ...presentEntry(entry), connectionName, preview, isPaused, sentAfterMs }
}

/** Such as `bad_request_400`. A code of a newer version reads as itself. */
function nameOf(code: string): string {
  return Object.values(REPLIES).find((reply) => reply.code === code)?.name ?? code
}
