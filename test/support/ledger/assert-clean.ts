import assert from 'node:assert/strict'
import type { Ledger } from './check-ledger.ts'

const SHOWN_OF_EACH = 3

/** Fails with the first few faults of every kind. */
export function assertClean({ faults, counts, states }: Ledger): void {
  const found = Object.entries(faults).filter(([, list]) => list.length > 0)
  if (found.length === 0) return
  const lines = found.flatMap(([kind, list]) => [
    `${kind}: ${list.length}`,
    ...list.slice(0, SHOWN_OF_EACH).map((sentence: string) => `  ${sentence}`),
  ])
  assert.fail(['The ledger does not add up.', ...lines, JSON.stringify({ counts, states })].join('\n'))
}
