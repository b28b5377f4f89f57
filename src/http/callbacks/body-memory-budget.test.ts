import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId } from '../../core/ids.ts'
import { BodyMemoryBudget } from './body-memory-budget.ts'

const [a, b, c] = ['a', 'b', 'c'] as AccountId[] as [AccountId, AccountId, AccountId]

describe('the room for bodies', () => {
  it('is bounded in all, and for each account', () => {
    const room = new BodyMemoryBudget({ bytes: 10, bytesPerAccount: 6, smallBytes: 100 })

    const taken = [room.take(a, 6, 6), room.take(a, 1, 1), room.take(b, 4, 4), room.take(c, 1, 1)]
    room.giveBack(a, 6)

    assert.deepEqual(taken, [true, false, true, false])
    assert.deepEqual([room.take(b, 3, 3), room.take(c, 6, 6), room.take(c, 1, 1)], [false, true, false])
  })

  it('keeps a quarter for small bodies, in all and for each account', () => {
    const room = new BodyMemoryBudget({ bytes: 16, bytesPerAccount: 8, smallBytes: 2 })

    assert.deepEqual([room.take(a, 6, 6), room.take(a, 1, 7), room.take(a, 2, 2)], [true, false, true])
    assert.deepEqual([room.take(b, 4, 4), room.take(c, 3, 3), room.take(c, 2, 2)], [true, false, true])
  })

  it('is whole again when all was given back', () => {
    const room = new BodyMemoryBudget({ bytes: 10, bytesPerAccount: 10, smallBytes: 100 })
    for (const account of [a, b]) room.take(account, 5, 5)
    for (const account of [a, b]) room.giveBack(account, 5)

    assert.equal(room.take(c, 10, 10), true)
  })
})
