import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { findPages, step } from '../../console/features/palette/palette-entries.ts'

const labels = (typed: string, role: 'viewer' | 'developer' | 'owner' = 'owner') =>
  findPages(typed, role).map(({ label }) => label)

describe('the palette', () => {
  it('finds pages by their names and by other words for them', () => {
    assert.deepEqual(labels('tok'), ['API tokens', 'Create an API token'])
    assert.deepEqual(labels('opt out'), ['Recipients'])
    assert.deepEqual(labels(' ALARM'), ['Needs attention'])
    assert.deepEqual(labels('oken'), [])
  })

  it('offers only pages that the person may open', () => {
    assert.deepEqual(labels('audit', 'developer'), [])
    assert.deepEqual(labels('create', 'viewer'), [])
    assert.ok(labels('', 'viewer').includes('API logs'))
  })

  it('continues at the other end', () => {
    assert.deepEqual([step(2, 1, 3), step(0, -1, 3), step(0, 1, 0)], [0, 2, 0])
  })
})
