import assert from 'node:assert/strict'
import { it } from 'vitest'
import { goesOn } from './goes-on.ts'

const NOW = 1_800_000_000_000

it.each([
  ['media_pending', 30_000, 'in 30 seconds at the earliest'],
  ['awaiting_evidence', 30_000, 'in 30 seconds at the latest'],
  ['retrying', 30_000, 'in 30 seconds'],
  // It is being downloaded again.
  ['media_pending', 900, 'any moment'],
  ['media_pending', -1, 'any moment'],
])('a wait for %s that ends in %i ms goes on %s', (reason, ms, text) => {
  assert.equal(goesOn({ reason, until: NOW + ms }, NOW), text)
})
