import { getHeapSpaceStatistics } from 'node:v8'
import { keepGarbageYoung } from '../../../src/server/runtime-tuning.ts'

/**
 * Creates objects that live for a while, until the code that creates them has long been compiled. Then prints by how many bytes
 * the young generation grows with some more objects. With `young` as the first argument they stay in that generation.
 */
const HELD = 200_000
const MADE_BEFORE = 2_000_000
const MADE_THEN = 5_000
const ROUNDS = 5

const held: object[] = []

function makeOne(place: number): object {
  return { place, list: [place, { place }] }
}

function make(count: number): void {
  for (let made = 0; made < count; made += 1) held[made % HELD] = makeOne(made)
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_used_size ?? 0
}

if (process.argv[2] === 'young') keepGarbageYoung()
make(MADE_BEFORE)
let grownBy = 0
// A garbage collection in between makes the number smaller.
for (let round = 0; round < ROUNDS; round += 1) {
  const before = youngBytes()
  make(MADE_THEN)
  grownBy = Math.max(grownBy, youngBytes() - before)
}
console.log(grownBy)
