import type { ConnectionId } from '../core/ids.ts'
import type { MessageType } from '../core/message/message.ts'
import type { Intake } from '../core/ports/intake.ts'

/** The same intake, which also tells of each message that was accepted, so that it need not wait for the next look. */
export function wakeOnAccept(
  intake: Intake,
  onAccepted: (connectionId: ConnectionId, type: MessageType) => void,
): Intake {
  return {
    findToken: (sha256) => intake.findToken(sha256),
    namesMessage: (accountId, key) => intake.namesMessage(accountId, key),
    isBacklogFull: (accountId, from) => intake.isBacklogFull(accountId, from),
    logRefused: (request) => intake.logRefused(request),
    accept: async (candidate) => {
      const result = await intake.accept(candidate)
      if (result.kind === 'accepted') onAccepted(result.connectionId, candidate.content.type)
      return result
    },
  }
}
