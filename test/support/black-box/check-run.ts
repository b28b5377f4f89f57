import { assertClean } from '../ledger/assert-clean.ts'
import { assertLedgerSeesFaults } from '../ledger/assert-sees-faults.ts'
import { checkLedger, type Ledger } from '../ledger/check-ledger.ts'
import type { LedgerInput, SentRequest } from '../ledger/ledger-input.ts'
import { collectLedger, drain, type Recorded } from './collect-ledger.ts'

interface Judgement extends Ledger {
  /** What was compared. */
  readonly input: LedgerInput
}

const DRAINED_WITHIN_MS = 90_000

/**
 * Ends every fault run: waits until all lanes are empty, asserts that the ledger finds no fault, and that it would find one.
 * `mayLackMessages`: the database lost messages that were being sent, so the inbox of the sandbox may hold deliveries without a
 * message.
 */
export async function checkRun(
  world: Recorded,
  requests: readonly SentRequest[],
  { mayLackMessages = false } = {},
): Promise<Judgement> {
  await drain(world.cli, DRAINED_WITHIN_MS)
  const input = await collectLedger(world, requests)
  const checked = mayLackMessages ? withoutLost(input) : input
  const ledger = checkLedger(checked)
  assertClean(ledger)
  assertLedgerSeesFaults(checked)
  return { ...ledger, input }
}

/** Leaves out deliveries of lost messages: the message is not stored, and the request for it got no answer. */
function withoutLost(input: LedgerInput): LedgerInput {
  const there = new Set(input.messages.map(({ id }) => id))
  const lost = new Set(
    input.requests.flatMap(({ answer, content }) => (answer.kind === 'unknown' ? [content.text] : [])),
  )
  return { ...input, inbox: input.inbox.filter(({ messageId, text }) => there.has(messageId) || !lost.has(text)) }
}
