import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { AcceptRate } from './accept-rate.ts'

const ANNA = 'anna' as AccountId
const BEN = 'ben' as AccountId

function rateAt(perSecond: number) {
  const time = { ms: 0 }
  const clock: Clock = { now: () => 0, monotonic: () => time.ms, random: () => 0, after: () => () => {} }
  const rate = new AcceptRate(clock, perSecond)
  const takeMany = (accountId: AccountId, count: number) =>
    Array.from({ length: count }, () => rate.take(accountId)).filter(Boolean).length
  return { takeMany, time }
}

describe('the rate of an account', () => {
  it('is one second’s worth at once, and then what time brings', () => {
    const { takeMany, time } = rateAt(10)

    assert.equal(takeMany(ANNA, 100), 10)
    time.ms += 250
    assert.equal(takeMany(ANNA, 100), 2)
    time.ms += 60_000
    assert.equal(takeMany(ANNA, 100), 10)
  })

  it('is each account’s own', () => {
    const { takeMany } = rateAt(10)
    takeMany(ANNA, 100)

    assert.equal(takeMany(BEN, 100), 10)
  })

  it('is not limited by 0', () => {
    assert.equal(rateAt(0).takeMany(ANNA, 1000), 1000)
  })
})
