import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { KeyedSemaphore } from './keyed-semaphore.ts'

describe('taking turns', () => {
  it('lets so many of one key run at once, the others in order, and keeps no other key waiting', async () => {
    const turns = turnsOf(2)
    const begun: string[] = []
    const ends = new Map<string, () => void>()
    const run = (key: string, name: string) =>
      turns.run(key, () => {
        begun.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      })
    const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('a', 'a4'), run('b', 'b1')]
    await tick()
    assert.deepEqual(begun, ['a1', 'a2', 'b1'])

    for (const [name, next] of [
      ['a2', 'a3'],
      ['a1', 'a4'],
    ] as const) {
      ends.get(name)?.()
      await tick()
      assert.equal(begun.at(-1), next)
    }

    for (const end of ends.values()) end()
    await Promise.all(all)
  })

  it('goes on after a failure', async () => {
    const turns = turnsOf(1)
    const failing = turns.run('a', () => Promise.reject(new Error('no')))

    await assert.rejects(failing, { message: 'no' })
    assert.equal(await turns.run('a', () => Promise.resolve('yes')), 'yes')
  })

  it('refuses a caller that has waited for too long, and keeps the place of the others', async () => {
    const turns = turnsOf(1, 20)
    const first = Promise.withResolvers<void>()
    const running = turns.run('a', () => first.promise)
    const late = turns.run('a', () => Promise.resolve('late'))

    await assert.rejects(late, { message: 'too late' })
    const next = turns.run('a', () => Promise.resolve('next'))
    first.resolve()
    await running
    assert.equal(await next, 'next')
    assert.equal(await turns.run('a', () => Promise.resolve('again')), 'again')
  })
})

function turnsOf(mostAtOnce: number, waitsMs = 5_000): KeyedSemaphore {
  return new KeyedSemaphore({ mostAtOnce, waitsMs, tooLate: () => new Error('too late') })
}

function tick(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
