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

/** The end of every fault run: lets all lanes run empty, then every fault must be absent, and would have been seen. */
export async function checkRun(world: Recorded, requests: readonly SentRequest[]): Promise<Judgement> {
  await drain(world.cli, DRAINED_WITHIN_MS)
  const input = await collectLedger(world, requests)
  const ledger = checkLedger(input)
  assertClean(ledger)
  assertLedgerSeesFaults(input)
  return { ...ledger, input }
}
