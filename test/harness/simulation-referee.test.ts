import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { BREAKAGES } from '../simulation/breakages.ts'
import { type RunResult, simulate } from '../simulation/simulate.ts'
import type { Breakage } from '../simulation/simulated-world.ts'

const SEEN_WITHIN_SEEDS = 200

describe('the referee of the simulation', () => {
  it.each(Object.entries(BREAKAGES))('notices when %s', async (_, breakage) => {
    const found = await findViolation(breakage)

    assert.ok(found, `${SEEN_WITHIN_SEEDS} seeds show nothing wrong`)
  })
})

async function findViolation(breakage: Breakage): Promise<RunResult | null> {
  for (let seed = 1; seed <= SEEN_WITHIN_SEEDS; seed++) {
    const result = await simulate(seed, breakage)
    const invariant = result.violation?.invariant
    if (invariant?.startsWith(breakage.breaks ?? '') && !(await isOfAggravation(seed, breakage, invariant)))
      return result
  }
  return null
}

/** Whether the aggravation alone, without the mistake, breaks the invariant as well. */
async function isOfAggravation(seed: number, { aggravate }: Breakage, invariant: string): Promise<boolean> {
  return aggravate !== undefined && (await simulate(seed, { aggravate })).violation?.invariant === invariant
}
