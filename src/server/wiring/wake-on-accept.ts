import type { Instant } from '../../core/ids.ts'
import type { QueuedMessage } from '../../core/message/message.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { AcceptResult, Candidate, Intake } from '../../core/ports/intake.ts'

/** The same intake, which also notifies of each accepted message, so that no worker needs to poll for it. */
export function wakeOnAccept(
  intake: Intake,
  clock: Pick<Clock, 'now'>,
  onAccepted: (message: QueuedMessage) => void,
): Intake {
  return {
    findToken: (sha256) => intake.findToken(sha256),
    namesMessage: (accountId, key) => intake.namesMessage(accountId, key),
    isBacklogFull: (accountId, from) => intake.isBacklogFull(accountId, from),
    logRefused: (request) => intake.logRefused(request),
    logSummed: (sum) => intake.logSummed(sum),
    accept: (candidate) =>
      intake.accept(candidate).then((result) => {
        if (result.kind === 'accepted') onAccepted(toQueued(candidate, result, clock.now()))
        return result
      }),
  }
}

/** As its lane would load it, but for some milliseconds in the moment of its acceptance. */
export function toQueued(
  { accountId, to: recipient, content }: Candidate,
  { messageId: id, connectionId, sequence }: Extract<AcceptResult, { kind: 'accepted' }>,
  acceptedAt: Instant,
): QueuedMessage {
  const media =
    content.type === 'message' ? null : ({ kind: 'pending', tries: 0, nextTryAt: acceptedAt, lastWords: null } as const)
  return { sequence, id, accountId, connectionId, recipient, acceptedAt, attempts: 0, retry: null, content, media }
}
