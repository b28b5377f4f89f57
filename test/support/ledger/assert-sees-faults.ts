import assert from 'node:assert/strict'
import { checkLedger, type LedgerFaults } from './check-ledger.ts'
import type { LedgerInput } from './ledger-input.ts'

/**
 * The negative control of a run: the same data with one fault put in must no longer add up. Without it a run that
 * compared nothing with nothing would seem just as good.
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
  const { connection } = input.messages.find((message) => message.id === id)!
  if (input.inbox.filter((entry) => entry.connection === connection).length > 1) {
    expectFault('reordered', { ...input, inbox: input.inbox.toReversed() })
  }
}

function deliveredAndAcked({ requests, inbox }: LedgerInput): string {
  const delivered = new Set(inbox.map(({ messageId }) => messageId))
  for (const { answer } of requests)
    if (answer.kind === 'acked' && delivered.has(answer.messageId)) return answer.messageId
  return assert.fail('Nothing was both acknowledged and delivered: the run has shown nothing')
}

function expectFault(kind: keyof LedgerFaults, input: LedgerInput): void {
  const { faults } = checkLedger(input)
  assert.ok(faults[kind].length > 0, `The ledger would not notice a fault of kind ${kind}`)
}
