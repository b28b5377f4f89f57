import { describe, it } from 'vitest'
import { assertKept } from '../simulation/assert-kept.ts'
import { HARMLESS } from '../simulation/breakages.ts'
import { simulate } from '../simulation/simulate.ts'
import { readRounds } from './run-length.ts'

const BLOCK = 20
// `test/simulation/simulation.test.ts` runs the seeds before this one.
const FIRST_SEED = 10_040
const HARMLESS_SEEDS = readRounds({ brief: 20, quick: 5 })

const blocks = Array.from({ length: readRounds({ brief: 6, quick: 1 }) }, (_, index) => FIRST_SEED + index * BLOCK)

describe('the simulated world', () => {
  it.each(blocks)('G2 G3 G4 G5 G6: keeps its promises from seed %i on', async (first) => {
    for (let seed = first; seed < first + BLOCK; seed++) assertKept(await simulate(seed))
  })
})

describe('the assignment of lanes to workers', () => {
  it.each(Object.entries(HARMLESS))(
    'G2 G3 G4 G5 G6: is only a preference: every promise is kept when %s',
    async (_, mistake) => {
      for (let seed = 1; seed <= HARMLESS_SEEDS; seed++) assertKept(await simulate(seed, mistake))
    },
  )
})
