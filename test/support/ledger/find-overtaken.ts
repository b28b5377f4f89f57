import { inOrderOfStart } from './check-attempts.ts'
import type { ListedMessage, RecordedAttempt, SentRequest } from './ledger-input.ts'

interface Started {
  readonly messageId: string
  readonly request: SentRequest
}

/**
 * Finds messages that later ones to other recipients have overtaken without cause. A message may be overtaken while it waits for
 * its file, its retry, or an earlier such message to its recipient. `order`: the order of first attempts.
 */
export function findOvertaken(order: readonly Started[], mayBePassed: ReadonlySet<string>): string[] {
  const overtaken: string[] = []
  const seen = new Set<string>()
  // For each connection the latest messages to two recipients, so that one of them is to another recipient.
  const latest = new Map<string, Started[]>()
  for (const started of order) {
    const { messageId, request } = started
    if (seen.has(messageId)) continue
    seen.add(messageId)
    const { connection, to, answer } = request
    const before = latest.get(connection) ?? []
    const other = before.find((each) => each.request.to !== to)
    if (other && answer.kind === 'acked' && answer.at < other.request.sentAt && !mayBePassed.has(messageId))
      overtaken.push(
        `${messageId} of ${connection} had nothing to wait for, but ${other.messageId} was started before it`,
      )
    const own = before.find((each) => each.request.to === to)
    const later = own && own.request.sentAt > request.sentAt ? own : started
    const kept = [...before.filter((each) => each.request.to !== to), later]
    latest.set(connection, kept.toSorted((a, b) => b.request.sentAt - a.request.sentAt).slice(0, 2))
  }
  return overtaken
}

/** Finds messages that waited for their file or a retry, and those accepted behind such a message to the same recipient. */
export function findDeferred(messages: readonly ListedMessage[], attempts: readonly RecordedAttempt[]): Set<string> {
  const attemptsOf = Map.groupBy(inOrderOfStart(attempts), ({ messageId }) => messageId)
  const deferredUntil = new Map<string, number>()
  const deferred = new Set<string>()
  for (const { id, connection, to, acceptedAt, mediaEndedAt = null } of messages.toSorted(
    (a, b) => a.acceptedAt - b.acceptedAt,
  )) {
    const own = attemptsOf.get(id) ?? []
    const recipient = `${connection} ${to}`
    const until = deferredUntil.get(recipient) ?? Number.NEGATIVE_INFINITY
    if (own.length < 2 && mediaEndedAt === null && acceptedAt > until) continue
    deferred.add(id)
    const ends = own.map(({ endedAt }) => endedAt ?? Number.POSITIVE_INFINITY)
    deferredUntil.set(recipient, Math.max(until, mediaEndedAt ?? until, ...ends))
  }
  return deferred
}
