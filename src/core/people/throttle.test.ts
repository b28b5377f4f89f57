import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkTries, type ThrottleRule, type Tries } from './throttle.ts'

const NOON = Date.UTC(2026, 0, 15, 12)

function decideAfterTry(rule: ThrottleRule, tries: Tries | null, now: number) {
  const result = checkTries([{ key: 'one', rule, tries }], now)
  if ('until' in result) return result
  const [counted] = result.counted
  assert.ok(counted)
  const { key: _, ...rest } = counted
  return { tries: rest }
}

/** How long each next try has to wait, when everybody tries as soon as they may. */
function waits(rule: ThrottleRule, count: number): number[] {
  let [now, tries]: [number, Tries | null] = [NOON, null]
  return Array.from({ length: count }, () => {
    const first = decideAfterTry(rule, tries, now)
    const wait = 'until' in first ? first.until - now : 0
    now += wait
    const then = decideAfterTry(rule, tries, now)
    assert.ok('tries' in then)
    tries = then.tries
    return wait / 1_000
  })
}

describe('slowing guesses down', () => {
  it.each(['account', 'device'] as const)('lets five through by %s, then doubles the wait up to 15 minutes', (rule) => {
    assert.deepEqual(waits(rule, 17), [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900])
  })

  it('lets 30 an hour through by address, 60 a minute, and five codes in five minutes', () => {
    assert.deepEqual(waits('minute', 61).slice(-2), [0, 60])
    assert.deepEqual(waits('address', 31).slice(-2), [0, 3_600])
    assert.deepEqual(waits('code', 6), [0, 0, 0, 0, 0, 300])
  })

  it('forgets after a day', () => {
    const tries = { count: 40, countedFrom: NOON, lastAt: NOON }

    const result = decideAfterTry('account', tries, NOON + 86_400_000)

    assert.deepEqual(result, { tries: { count: 1, countedFrom: NOON + 86_400_000, lastAt: NOON + 86_400_000 } })
  })

  it('makes no person wait for a clock that was set back', () => {
    const tries = { count: 40, countedFrom: NOON, lastAt: NOON }

    assert.ok('tries' in decideAfterTry('account', tries, NOON - 86_400_000))
    assert.ok('tries' in decideAfterTry('address', tries, NOON - 86_400_000))
  })

  it('lets an account be tried three times from an address that has used up its tries, and no more', () => {
    const address = { key: 'address', rule: 'address', tries: { count: 30, countedFrom: NOON, lastAt: NOON } } as const
    const account = (count: number) => {
      const tries = count === 0 ? null : { count, countedFrom: NOON, lastAt: NOON }
      return { key: 'account', rule: 'account', tries } as const
    }

    for (const count of [0, 1, 2]) assert.ok('counted' in checkTries([account(count), address], NOON + 1), `${count}`)
    assert.deepEqual(checkTries([account(3), address], NOON + 1), { until: NOON + 3_600_000 })
  })
})
