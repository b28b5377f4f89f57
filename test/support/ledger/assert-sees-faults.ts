import assert from 'node:assert/strict'
import { inOrderOfStart } from './check-attempts.ts'
import { checkLedger, type LedgerFaults } from './check-ledger.ts'
import { findDeferred } from './find-overtaken.ts'
import type { LedgerInput, RecordedAttempt } from './ledger-input.ts'

/**
 * The negative control of a run: with one fault planted, the same data must fail the check. Otherwise a run that compared nothing
 * would pass as well.
 */
export function assertLedgerSeesFaults(input: LedgerInput): void {
  const id = deliveredAndAcked(input)
  const without = <Row>(rows: readonly Row[], is: (row: Row) => boolean) => rows.filter((row) => !is(row))
  expectFault('lost', { ...input, messages: without(input.messages, (message) => message.id === id) })
  expectFault('logLies', { ...input, inbox: without(input.inbox, ({ messageId }) => messageId === id) })
  expectFault('unexpected', {
    ...input,
    requests: without(input.requests, ({ answer }) => answer.kind === 'acked' && answer.messageId === id),
  })
  const twice = input.inbox.filter(({ messageId }) => messageId === id)
  expectFault('duplicated', { ...input, inbox: [...input.inbox, ...twice] })
  expectFault('corrupted', {
    ...input,
    inbox: input.inbox.map((entry) => (entry.messageId === id ? { ...entry, text: `not ${id}` } : entry)),
  })
  const { connection, to } = input.messages.find((message) => message.id === id)!
  if (input.inbox.filter((entry) => entry.connection === connection && entry.to === to).length > 1) {
    expectFault('reordered', { ...input, inbox: input.inbox.toReversed() })
  }
  const neighbours = findNeighbours(input)
  if (neighbours) expectFault('overtaken', withStartsSwapped(input, neighbours))
}

function deliveredAndAcked({ requests, inbox }: LedgerInput): string {
  const delivered = new Set(inbox.map(({ messageId }) => messageId))
  for (const { answer } of requests)
    if (answer.kind === 'acked' && delivered.has(answer.messageId)) return answer.messageId
  return assert.fail('Nothing was both acknowledged and delivered: the run has shown nothing')
}

/** Two successive messages of a connection to different recipients. Each was tried once and did not wait. */
function findNeighbours({
  requests,
  messages,
  attempts = [],
}: LedgerInput): [RecordedAttempt, RecordedAttempt] | undefined {
  const deferred = findDeferred(messages, attempts)
  const requestOf = new Map(
    requests.flatMap((request) => (request.answer.kind === 'acked' ? [[request.answer.messageId, request]] : [])),
  )
  for (const own of Map.groupBy(inOrderOfStart(attempts), (attempt) => attempt.connection).values()) {
    for (const [place, later] of own.entries()) {
      const earlier = own[place - 1]
      const [one, other] = [requestOf.get(earlier?.messageId ?? ''), requestOf.get(later.messageId)]
      if (!earlier || one?.answer.kind !== 'acked' || !other || one.to === other.to) continue
      if (one.answer.at < other.sentAt && !deferred.has(earlier.messageId) && !deferred.has(later.messageId))
        return [earlier, later]
    }
  }
  return undefined
}

function withStartsSwapped(
  input: LedgerInput,
  [earlier, later]: readonly [RecordedAttempt, RecordedAttempt],
): LedgerInput {
  const swap = (attempt: RecordedAttempt): RecordedAttempt => {
    if (attempt === earlier) return { ...attempt, messageId: later.messageId }
    return attempt === later ? { ...attempt, messageId: earlier.messageId } : attempt
  }
  return { ...input, attempts: input.attempts?.map(swap) ?? [] }
}

function expectFault(kind: keyof LedgerFaults, input: LedgerInput): void {
  const { faults } = checkLedger(input)
  assert.ok(faults[kind].length > 0, `The ledger would not notice a fault of kind ${kind}`)
}
