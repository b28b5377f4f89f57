import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { BodyRoom } from './body-room.ts'

describe('the room for bodies', () => {
  it('is bounded in all, and for each address', () => {
    const room = new BodyRoom(10, 6)

    const taken = [room.take('a', 6), room.take('a', 1), room.take('b', 4), room.take('c', 1)]
    room.giveBack('a', 6)

    assert.deepEqual(taken, [true, false, true, false])
    assert.deepEqual([room.take('b', 3), room.take('c', 6), room.take('c', 1)], [false, true, false])
  })

  it('is whole again when all was given back', () => {
    const room = new BodyRoom(10, 10)
    for (const address of ['a', 'b']) room.take(address, 5)
    for (const address of ['a', 'b']) room.giveBack(address, 5)

    assert.equal(room.take('c', 10), true)
  })
})
