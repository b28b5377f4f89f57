import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { keepTicksFast } from './keep-ticks-fast.ts'

describe('keeping the shape of a tick', () => {
  it('keeps what Node notes of a tick, with all that Node puts into it', async () => {
    const kept = await keepTicksFast()

    assert.deepEqual(Object.keys(kept), ['callback', 'args'])
    assert.deepEqual(Object.getOwnPropertySymbols(kept).map(String), [
      'Symbol(async_id_symbol)',
      'Symbol(trigger_async_id_symbol)',
      'Symbol(kAsyncContextFrame)',
    ])
  })

  it('keeps one', async () => {
    assert.equal(await keepTicksFast(), await keepTicksFast())
  })
})
