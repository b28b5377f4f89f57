import assert from 'node:assert/strict'
import { describe, it, onTestFinished, vi } from 'vitest'
import type { Candidate } from '../../core/ports/intake.ts'
import type { Verdict } from './accept-batch.ts'
import { AcceptQueue } from './accept-queue.ts'
import type { Slot } from './slot.ts'

const ENOUGH = 128

describe('the queue of what is to be accepted', () => {
  it('lets few wait for the batch that is on its way, and go together with who comes meanwhile', async () => {
    const { sizes, submit, answer } = newQueue()

    await submit(1)
    await submit(2)
    await submit(3)
    const before = [...sizes]
    await answer()

    assert.deepEqual(before, [1])
    assert.deepEqual(sizes, [1, 5])
  })

  it('lets as many go beside it as are worth a batch', async () => {
    const { sizes, submit } = newQueue()

    await submit(1)
    await submit(ENOUGH - 1)
    const before = [...sizes]
    await submit(1)

    assert.deepEqual(before, [1])
    assert.deepEqual(sizes, [1, ENOUGH])
  })

  it('lets nobody wait for a batch that is stuck', async () => {
    const { sizes, submit } = newQueue()

    await submit(1)
    await submit(2)
    await vi.advanceTimersByTimeAsync(9)

    assert.deepEqual(sizes, [1, 2])
  })

  it('lets nobody wait when nothing is on its way', async () => {
    const { sizes, submit, answer } = newQueue()

    await submit(1)
    await answer()
    await submit(1)

    assert.deepEqual(sizes, [1, 1])
  })
})

/** Two ways over which nothing comes back before it is told to. Time stands still. */
function newQueue() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const sizes: number[] = []
  const waiting: (() => void)[] = []
  const way = { link: { isConnected: true } } as Slot
  const queue = new AcceptQueue({
    slots: [way, way],
    run: (candidates) => {
      sizes.push(candidates.length)
      return new Promise((resolve) => waiting.push(() => resolve(candidates.map(() => ({}) as Verdict))))
    },
    onTrouble: () => {},
  })
  const turn = () => vi.advanceTimersByTimeAsync(0)
  return {
    sizes,
    submit: (count: number) => {
      for (let n = 0; n < count; n += 1) void queue.submit({ body: '' } as Candidate)
      return turn()
    },
    answer: () => {
      waiting.shift()?.()
      return turn()
    },
  }
}
