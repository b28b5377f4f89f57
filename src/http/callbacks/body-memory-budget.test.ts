import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId } from '../../core/ids.ts'
import { BodyMemoryBudget } from './body-memory-budget.ts'

const [a, b, c] = ['a', 'b', 'c'] as AccountId[] as [AccountId, AccountId, AccountId]

describe('the memory for bodies', () => {
  it('is limited in all, and for each account', () => {
    const budget = new BodyMemoryBudget({ bytes: 10, bytesPerAccount: 6, smallBytes: 100 })

    const taken = [budget.take(a, 6, 6), budget.take(a, 1, 1), budget.take(b, 4, 4), budget.take(c, 1, 1)]
    budget.release(a, 6)

    assert.deepEqual(taken, [true, false, true, false])
    assert.deepEqual([budget.take(b, 3, 3), budget.take(c, 6, 6), budget.take(c, 1, 1)], [false, true, false])
  })

  it('keeps a quarter for small bodies, in all and for each account', () => {
    const budget = new BodyMemoryBudget({ bytes: 16, bytesPerAccount: 8, smallBytes: 2 })

    assert.deepEqual([budget.take(a, 6, 6), budget.take(a, 1, 7), budget.take(a, 2, 2)], [true, false, true])
    assert.deepEqual([budget.take(b, 4, 4), budget.take(c, 3, 3), budget.take(c, 2, 2)], [true, false, true])
  })

  it('is complete again when everything was released', () => {
    const budget = new BodyMemoryBudget({ bytes: 10, bytesPerAccount: 10, smallBytes: 100 })
    for (const account of [a, b]) budget.take(account, 5, 5)
    for (const account of [a, b]) budget.release(account, 5)

    assert.equal(budget.take(c, 10, 10), true)
  })
})
