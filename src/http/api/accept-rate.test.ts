import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { AcceptRate } from './accept-rate.ts'

const ANNA = 'anna' as AccountId
const BEN = 'ben' as AccountId

function rateAt(perSecond: number, processes = 1) {
  const time = { ms: 0 }
  const shared = { processes }
  const clock: Clock = { now: () => 0, wall: () => 0, monotonic: () => time.ms, random: () => 0, after: () => () => {} }
  const rate = new AcceptRate(clock, { perSecond, acceptingProcesses: () => shared.processes })
  const takeMany = (accountId: AccountId, count: number) =>
    Array.from({ length: count }, () => rate.take(accountId)).filter(Boolean).length
  return { rate, takeMany, time, shared }
}

describe('the rate of an account', () => {
  it('allows one second’s worth at once, and then refills over time', () => {
    const { takeMany, time } = rateAt(10)

    assert.equal(takeMany(ANNA, 100), 10)
    time.ms += 250
    assert.equal(takeMany(ANNA, 100), 2)
    time.ms += 60_000
    assert.equal(takeMany(ANNA, 100), 10)
  })

  it('is separate for each account', () => {
    const { takeMany } = rateAt(10)
    takeMany(ANNA, 100)

    assert.equal(takeMany(BEN, 100), 10)
  })

  it('is not limited by 0', () => {
    assert.equal(rateAt(0).takeMany(ANNA, 1000), 1000)
  })

  it('is shared by the current number of accepting processes', () => {
    const { takeMany, time, shared } = rateAt(12, 3)

    assert.equal(takeMany(ANNA, 100), 4)
    time.ms += 500
    assert.equal(takeMany(ANNA, 100), 2)
    shared.processes = 2
    time.ms += 60_000
    assert.equal(takeMany(ANNA, 100), 6)
    shared.processes = 12
    time.ms += 60_000
    assert.equal(takeMany(ANNA, 100), 1)
  })

  it('still allows messages where a share is less than one per second', () => {
    const { takeMany, time } = rateAt(1, 4)

    assert.equal(takeMany(ANNA, 100), 1)
    time.ms += 3999
    assert.equal(takeMany(ANNA, 100), 0)
    time.ms += 1
    assert.equal(takeMany(ANNA, 100), 1)
  })

  it('counts a process that does not know of itself yet as one', () => {
    assert.equal(rateAt(10, 0).takeMany(ANNA, 100), 10)
  })

  it('can be given back, but never beyond its limit', () => {
    const { rate, takeMany, time } = rateAt(10)
    takeMany(ANNA, 10)
    for (let unit = 0; unit < 3; unit++) rate.release(ANNA)
    assert.equal(takeMany(ANNA, 100), 3)

    time.ms += 60_000
    takeMany(ANNA, 1)
    for (let unit = 0; unit < 100; unit++) rate.release(ANNA)

    assert.equal(takeMany(ANNA, 100), 10)
  })
})
