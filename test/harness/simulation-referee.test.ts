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
    if (result.violation?.invariant.startsWith(breakage.breaks ?? '')) return result
  }
  return null
}
