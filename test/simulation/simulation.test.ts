import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { assertKept } from './assert-kept.ts'
import keptSeeds from './kept-seeds.json' with { type: 'json' }
import { simulate } from './simulate.ts'

const SEEDS = 40
const BLOCK = 10
// Apart from the seeds that people try by hand, and fixed, so that each run of the tests is the same.
const FIRST_SEED = 10_000

describe('the simulated world', () => {
  it('is the same whenever its seed is the same', async () => {
    const [one, other] = [await simulate(7), await simulate(7)]

    assert.deepEqual(one.trace, other.trace)
    assert.ok(one.calls > 0)
  })

  it.each(keptSeeds)('keeps its promises with seed $seed, which once broke one', async ({ seed }) => {
    assertKept(await simulate(seed))
  })

  // `test/faults/simulation.test.ts` continues with more seeds.
  const blocks = Array.from({ length: SEEDS / BLOCK }, (_, index) => FIRST_SEED + index * BLOCK)
  it.each(blocks)('G2 G3 G4 G5 G6: keeps its promises from seed %i on', async (first) => {
    for (let seed = first; seed < first + BLOCK; seed++) assertKept(await simulate(seed))
  })
})
