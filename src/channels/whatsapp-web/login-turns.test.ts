import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock, settle } from '../../../test/conformance/hand-clock.ts'
import { LOGINS_A_SECOND, LOGINS_AT_ONCE, LoginTurns } from './login-turns.ts'

const MANY = 100

describe('logins of one process', () => {
  it('are ten at once, and each that ends lets one more begin, however often it says so', async () => {
    const { begun } = await takeMany()
    const atFirst = begun.length

    begun[0]?.()
    begun[0]?.()
    await settle()

    assert.deepEqual([atFirst, begun.length], [10, 11])
  })

  it('begin at most twenty times in a second, however soon each ends', async () => {
    const { clock, begun } = await takeMany({ endsAtOnce: true })
    const counts = [begun.length]

    for (const ms of [999, 1, 999, 1]) {
      await clock.pass(ms)
      counts.push(begun.length)
    }

    assert.deepEqual(counts, [20, 20, 40, 40, 60])
  })

  it('begin no more once the channel has stopped, and keep no process alive', async () => {
    const { clock, turns, begun } = await takeMany({ endsAtOnce: true })
    const waiting = clock.timers

    turns.stop()
    const after = clock.timers
    await clock.pass(60_000)
    void turns.take().then((end) => begun.push(end))
    await settle()

    assert.deepEqual([waiting, after, begun.length], [1, 0, 20])
  })

  it('begin no more once the channel has stopped, also when none waited then', async () => {
    const turns = new LoginTurns({ mostAtOnce: LOGINS_AT_ONCE, mostASecond: LOGINS_A_SECOND, clock: new HandClock() })
    const begun: string[] = []

    turns.stop()
    void turns.take().then(() => begun.push('later'))
    await settle()

    assert.deepEqual(begun, [])
  })
})

async function takeMany({ endsAtOnce = false } = {}) {
  const clock = new HandClock()
  const turns = new LoginTurns({ mostAtOnce: LOGINS_AT_ONCE, mostASecond: LOGINS_A_SECOND, clock })
  const begun: (() => void)[] = []
  for (let count = 0; count < MANY; count += 1)
    void turns.take().then((end) => {
      begun.push(end)
      if (endsAtOnce) end()
    })
  for (let times = 0; times < MANY / 4; times += 1) await settle()
  return { clock, turns, begun }
}
