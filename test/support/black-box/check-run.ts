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
 * The end of every fault run: lets all lanes run empty, then every fault must be absent, and would have been seen.
 * `mayLackMessages`: the database lost messages that were being sent. The sandbox may have stored their delivery in what is left.
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

/** Without deliveries of messages that are not there, where a request without an answer asked for the same. */
function withoutLost(input: LedgerInput): LedgerInput {
  const there = new Set(input.messages.map(({ id }) => id))
  const lost = new Set(
    input.requests.flatMap(({ answer, content }) => (answer.kind === 'unknown' ? [content.text] : [])),
  )
  return { ...input, inbox: input.inbox.filter(({ messageId, text }) => there.has(messageId) || !lost.has(text)) }
}
