import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { BREAKAGES, HARMLESS } from './breakages.ts'
import keptSeeds from './kept-seeds.json' with { type: 'json' }
import { type RunResult, simulate } from './simulate.ts'
import type { Breakage } from './simulated-world.ts'

const SEEDS = 160
const BLOCK = 20
// Fixed apart from the seeds that people try by hand, so that each run of the tests is the same.
const FIRST_SEED = 10_000
const HARMLESS_SEEDS = 20
const BREAKAGES_ARE_SEEN_WITHIN = 200

describe('the simulated world', () => {
  it('is the same whenever its seed is the same', async () => {
    const [one, other] = [await simulate(7), await simulate(7)]

    assert.deepEqual(one.trace, other.trace)
    assert.ok(one.calls > 0)
  })

  it.each(keptSeeds)('keeps its promises with seed $seed, which once broke one', async ({ seed }) => {
    assertKept(await simulate(seed))
  })

  const blocks = Array.from({ length: SEEDS / BLOCK }, (_, index) => FIRST_SEED + index * BLOCK)
  it.each(blocks)('G2 G3 G4 G5 G6: keeps its promises from seed %i on', async (first) => {
    for (let seed = first; seed < first + BLOCK; seed++) assertKept(await simulate(seed))
  })
})

describe('the shares of workers', () => {
  it.each(Object.entries(HARMLESS))(
    'G2 G3 G4 G5 G6: are advice, so that every promise is kept when %s',
    async (_, mistake) => {
      for (let seed = 1; seed <= HARMLESS_SEEDS; seed++) assertKept(await simulate(seed, mistake))
    },
  )
})

describe('the referee', () => {
  it.each(Object.entries(BREAKAGES))('notices when %s', async (_, breakage) => {
    const found = await findViolation(breakage)

    assert.ok(found, `${BREAKAGES_ARE_SEEN_WITHIN} seeds show nothing wrong`)
  })
})

async function findViolation(breakage: Breakage): Promise<RunResult | null> {
  for (let seed = 1; seed <= BREAKAGES_ARE_SEEN_WITHIN; seed++) {
    const result = await simulate(seed, breakage)
    if (result.violation) return result
  }
  return null
}

function assertKept({ seed, violation, around }: RunResult): void {
  if (!violation) return
  assert.fail(`seed ${seed} breaks ${violation.invariant}: ${violation.detail}\n${around.slice(-40).join('\n')}`)
}
