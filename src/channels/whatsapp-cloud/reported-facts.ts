import type { ConnectionFact } from '../../core/ports/channel-onboarding.ts'
import type { NumberFacts } from './number-memory.ts'

/** What Meta has reported by callback, for people to read. Usually empty. */
export function reportedFacts({
  isFlagged,
  throughputPerSecond,
  messagingLimit,
  accountEvent,
}: NumberFacts): readonly ConnectionFact[] {
  const facts: ConnectionFact[] = []
  if (isFlagged)
    facts.push({ label: 'Quality', value: 'Flagged: recipients block or report this number', tone: 'warning' })
  if (throughputPerSecond !== null)
    facts.push({ label: 'Throughput', value: `${throughputPerSecond} messages a second`, tone: 'plain' })
  if (messagingLimit !== null) facts.push({ label: 'Messaging limit', value: messagingLimit, tone: 'plain' })
  if (accountEvent !== null) facts.push({ label: 'Business account', value: accountEvent, tone: 'warning' })
  return facts
}
