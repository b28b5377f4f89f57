import assert from 'node:assert/strict'
import { describe, it, onTestFinished, vi } from 'vitest'
import type { Candidate } from '../../../core/ports/intake.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import type { BatchResult } from './accept-batch.ts'
import { AcceptQueue } from './accept-queue.ts'

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

  it('does not wait for a batch that is stuck', async () => {
    const { sizes, submit } = newQueue()

    await submit(1)
    await submit(2)
    await vi.advanceTimersByTimeAsync(9)

    assert.deepEqual(sizes, [1, 2])
  })

  it('does not wait when no batch is on its way', async () => {
    const { sizes, submit, answer } = newQueue()

    await submit(1)
    await answer()
    await submit(1)

    assert.deepEqual(sizes, [1, 1])
  })

  it('sends waiting requests before the batch before them is answered', async () => {
    const { events, submit, answer } = newQueue()

    await submit(2)
    await submit(1)
    await answer()

    assert.deepEqual(events, ['2 sent', '1 sent', 'answered', 'answered'])
  })

  it('is idle when the last batch on its way has been answered, without polling', async () => {
    const { events, submit, answer, idle } = newQueue()
    await idle()
    events.length = 0
    await submit(2)
    const timers = vi.getTimerCount()

    void idle()
    void idle()
    const timersOfIdle = vi.getTimerCount() - timers
    await answer()

    assert.equal(timersOfIdle, 0)
    assert.deepEqual(events, ['2 sent', 'answered', 'answered', 'idle', 'idle'])
  })

  it('queues for the lock of a request that has waited for a second, as what keeps it busy does', async () => {
    const { waits, submit } = newQueue(() => ({ kind: 'blocked', by: 'lane' }))
    await submit(1)

    await vi.advanceTimersByTimeAsync(1_000)
    const [, ...early] = waits.splice(0)
    await vi.advanceTimersByTimeAsync(1_900)

    assert.deepEqual([...new Set(early)], [40])
    assert.deepEqual([...new Set(waits)], [500])
  })

  it('is idle when all that waited has been refused because its time is over', async () => {
    const { events, submit, idle } = newQueue(() => ({ kind: 'blocked', by: 'lane' }))
    await submit(1)

    void idle()
    await vi.advanceTimersByTimeAsync(4_000)

    assert.deepEqual(events.slice(-3), ['1 sent', 'answered', 'idle'])
  })
})

/** Two connections that answer only when `answer` is called, unless `decide` is given. Time stands still. */
function newQueue(decide?: () => BatchResult) {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const sizes: number[] = []
  const events: string[] = []
  const waits: number[] = []
  const waiting: (() => void)[] = []
  const connection = { pgConnection: { isConnected: true } } as FencedConnection
  const queue = new AcceptQueue({
    connections: [connection, connection],
    run: (candidates, { lockMs }) => {
      waits.push(lockMs)
      sizes.push(candidates.length)
      events.push(`${candidates.length} sent`)
      if (decide) return Promise.resolve(candidates.map(decide))
      return new Promise((resolve) => waiting.push(() => resolve(candidates.map(() => ({}) as BatchResult))))
    },
    onError: () => {},
  })
  const turn = () => vi.advanceTimersByTimeAsync(0)
  const submitOne = async () => {
    await queue.submit({ body: '', from: '1', accountId: 'a', tokenId: 't' } as unknown as Candidate)
    events.push('answered')
  }
  return {
    sizes,
    events,
    waits,
    idle: async () => {
      await queue.idle()
      events.push('idle')
    },
    submit: (count: number) => {
      for (let n = 0; n < count; n += 1) void submitOne()
      return turn()
    },
    answer: () => {
      waiting.shift()?.()
      return turn()
    },
  }
}
