import assert from 'node:assert/strict'
import { describe, it, onTestFinished, vi } from 'vitest'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { Batcher, type BatcherOptions } from './batcher.ts'
import { StatementRefused, StorageDamaged } from './pg-connection.ts'

describe('batches', () => {
  it('let all who query in one turn share a statement, each with its own answer', async () => {
    const { batches, seen } = newBatcher()

    const answers = await Promise.all([batches.submit(1), batches.submit(2), batches.submit(3)])

    assert.deepEqual(answers, ['1', '2', '3'])
    assert.deepEqual(seen, [[1, 2, 3]])
  })

  it('gather what comes while all ways are taken', async () => {
    const { batches, seen, release } = newBatcher({ concurrency: 2 })
    const first = batches.submit(1)
    await turn()
    const second = batches.submit(2)
    await turn()
    const others = [batches.submit(3), batches.submit(4)]
    await turn()
    const before = [...seen]

    release()
    await Promise.all([first, second, ...others])

    assert.deepEqual(before, [[1], [2]])
    assert.deepEqual(seen, [[1], [2], [3, 4]])
  })

  it('wait for the batch before them while they are few, but not for one that is stuck', async () => {
    const lingering = newBatcher({ concurrency: 2, lingerMs: 60_000 })
    const hurried = newBatcher({ concurrency: 2, lingerMs: 5 })

    const first = lingering.batches.submit(1)
    await turn()
    const second = lingering.batches.submit(2)
    await turn()
    const third = lingering.batches.submit(3)
    await turn()
    lingering.release()
    await Promise.all([first, second, third])
    const stuck = hurried.batches.submit(1)
    await turn()
    const others = hurried.batches.submit(2)
    await waitUntil('the others went without it', async () => hurried.seen.length === 2, {
      deadlineMs: 10_000,
      everyMs: 1,
    })
    hurried.release()
    await Promise.all([stuck, others])

    assert.deepEqual(lingering.seen, [[1], [2, 3]])
    assert.deepEqual(hurried.seen, [[1], [2]])
  })

  it('share what is there among all free ways once it is worth it', async () => {
    const { batches, seen } = newBatcher({ concurrency: 2, minPerConnection: 3 })

    await Promise.all([1, 2, 3, 4, 5].map((given) => batches.submit(given)))
    await Promise.all([1, 2, 3, 4, 5, 6, 7].map((given) => batches.submit(given)))

    assert.deepEqual(seen, [
      [1, 2, 3, 4, 5],
      [1, 2, 3, 4],
      [5, 6, 7],
    ])
  })

  it('are idle when the last one on its way has ended, without polling', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { batches, release } = newBatcher({ concurrency: 2 })
    const ended: string[] = []
    await batches.idle()
    const first = batches.submit(1).then(() => ended.push('batch'))
    const idle = [batches.idle(), batches.idle()].map((each) => each.then(() => ended.push('idle')))
    await turn()
    assert.deepEqual(ended, [])

    release()
    await Promise.all([first, ...idle])

    assert.deepEqual(ended, ['batch', 'idle', 'idle'])
  })

  it('hold no more than they may', async () => {
    const { batches, seen } = newBatcher({ mostPerBatch: 2 })

    await Promise.all([1, 2, 3, 4, 5].map((given) => batches.submit(given)))

    assert.deepEqual(seen, [[1, 2], [3, 4], [5]])
  })

  it.each([
    ['is wrong', new StatementRefused('data', new Error())],
    ['meets something damaged', new StorageDamaged(new Error())],
  ])('G11: fail only the one that %s', async (_, error) => {
    const run = failing((given) => given.includes(3), error)
    const { batches } = newBatcher({ run })

    const results = await Promise.allSettled([1, 2, 3, 4].map((given) => batches.submit(given)))

    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    )
  })

  it('G11: query for each alone no longer once it is clear that all meet the damage', async () => {
    let asked = 0
    const run = failing(() => ++asked > 0, new StorageDamaged(new Error()))
    const { batches } = newBatcher({ run })

    const results = await Promise.allSettled(Array.from({ length: 64 }, (_, at) => batches.submit(at)))

    assert.ok(results.every(({ status }) => status === 'rejected'))
    assert.ok(asked < 30, `${asked} statements for 64`)
  })

  it('retry where another transaction held a lock, and finally say that storage is not available', async () => {
    const contended = new StatementRefused('contended', new Error())
    let asked = 0
    const later = newBatcher({ run: failing(() => ++asked < 3, contended) }).batches
    const never = newBatcher({ run: failing(() => true, contended) }).batches

    const answer = await later.submit(1)
    const thrown = await never.submit(1).catch((error: unknown) => error)

    assert.equal(answer, '1')
    assert.equal(thrown instanceof StorageUnavailable && thrown.unknown, false)
  })

  it('repeat nothing whose result is unknown', async () => {
    let asked = 0
    const gone = new StorageUnavailable('gone', true)
    const run = async () => {
      asked += 1
      throw gone
    }
    const { batches } = newBatcher({ run })

    const results = await Promise.allSettled([1, 2].map((given) => batches.submit(given)))

    assert.deepEqual(results, [
      { status: 'rejected', reason: gone },
      { status: 'rejected', reason: gone },
    ])
    assert.equal(asked, 1)
  })
})

function newBatcher(options: Partial<BatcherOptions<number, string>> = {}) {
  const seen: (readonly number[])[] = []
  let release = () => {}
  const held = options.concurrency === 2 && !options.minPerConnection
  const open = held ? new Promise<void>((resolve) => (release = resolve)) : Promise.resolve()
  const run = async (given: readonly number[]) => {
    seen.push(given)
    await open
    return given.map(String)
  }
  const batches = new Batcher<number, string>({ concurrency: 1, mostPerBatch: 100, run, ...options })
  return { batches, seen, release: () => release() }
}

function failing(fails: (given: readonly number[]) => boolean, error: Error) {
  return async (given: readonly number[]) => {
    if (fails(given)) throw error
    return given.map(String)
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
