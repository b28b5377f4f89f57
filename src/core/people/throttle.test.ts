import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { judgeTry, type ThrottleRule, type Tries } from './throttle.ts'

const NOON = Date.UTC(2026, 0, 15, 12)

/** How long each next try has to wait, when everybody tries as soon as they may. */
function waits(rule: ThrottleRule, count: number): number[] {
  let [now, tries]: [number, Tries | null] = [NOON, null]
  return Array.from({ length: count }, () => {
    const first = judgeTry(rule, tries, now)
    const wait = 'until' in first ? first.until - now : 0
    now += wait
    const then = judgeTry(rule, tries, now)
    assert.ok('tries' in then)
    tries = then.tries
    return wait / 1_000
  })
}

describe('slowing guesses down', () => {
  it.each(['account', 'device'] as const)('lets five through by %s, then doubles the wait up to 15 minutes', (rule) => {
    assert.deepEqual(waits(rule, 17), [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900])
  })

  it('lets 30 an hour through by address, and five codes in five minutes', () => {
    assert.deepEqual(waits('address', 31).slice(-2), [0, 3_600])
    assert.deepEqual(waits('code', 6), [0, 0, 0, 0, 0, 300])
  })

  it('forgets after a day', () => {
    const tries = { count: 40, countedFrom: NOON, lastAt: NOON }

    const verdict = judgeTry('account', tries, NOON + 86_400_000)

    assert.deepEqual(verdict, { tries: { count: 1, countedFrom: NOON + 86_400_000, lastAt: NOON + 86_400_000 } })
  })

  it('makes nobody wait for a clock that was set back', () => {
    const tries = { count: 40, countedFrom: NOON, lastAt: NOON }

    assert.ok('tries' in judgeTry('account', tries, NOON - 86_400_000))
    assert.ok('tries' in judgeTry('address', tries, NOON - 86_400_000))
  })
})
