import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { rowActions } from '../../console/features/tokens/token-labels.ts'

const DAY_MS = 86_400_000
const now = Date.now()
const active = { createdAt: now, expiresAt: now + 30 * DAY_MS, deletedAt: null }

const offered = (token: Parameters<typeof rowActions>[0], mayChange = true) =>
  rowActions(token, mayChange).map(({ label }) => label)

describe('the menu of a token', () => {
  it('offers what can still be done with it, deleting last', () => {
    const reading = ['Details', 'Show its requests']

    assert.deepEqual(offered(active), [...reading, 'Rename…', 'Rotate…', 'Delete…'])
    assert.deepEqual(offered({ ...active, expiresAt: now - 1 }), [...reading, 'Rename…', 'Delete…'])
    assert.deepEqual(offered({ ...active, deletedAt: now }), reading)
  })

  it('offers viewers nothing that they may not do', () => {
    assert.deepEqual(offered(active, false), ['Details', 'Show its requests'])
  })
})
