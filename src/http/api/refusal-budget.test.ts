import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId, TokenId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { RefusedRequest } from '../../core/ports/intake.ts'
import { RefusalBudget } from './refusal-budget.ts'

const ANNA = 'anna' as AccountId
const BEN = 'ben' as AccountId
const HOUR_MS = 3_600_000

function budgetOf(bytesPerHour: number) {
  const time = { ms: 0 }
  const clock: Clock = { now: () => 0, wall: () => 0, monotonic: () => time.ms, random: () => 0, after: () => () => {} }
  const budget = new RefusalBudget(clock, bytesPerHour)
  const takeMany = (accountId: AccountId, count: number, body: string | null = null) =>
    Array.from({ length: count }, () => budget.take(refused(accountId, body))).filter(Boolean).length
  return { budget, takeMany, time }
}

function refused(accountId: AccountId, body: string | null): RefusedRequest {
  const facts = { requestId: 'r', receivedAt: 0, receivedMonotonic: 0, remoteAddress: '127.0.0.1', userAgent: null }
  return { facts, accountId, tokenId: 'token' as TokenId, status: 429, code: 'HC-3', errors: '[]', body }
}

describe('the budget for logging refusals one by one', () => {
  it('allows one hour’s worth at once, and then refills over time', () => {
    const { takeMany, time } = budgetOf(502 * 100)

    assert.equal(takeMany(ANNA, 1000), 100)
    time.ms += HOUR_MS / 4
    assert.equal(takeMany(ANNA, 1000), 25)
    time.ms += 5 * HOUR_MS
    assert.equal(takeMany(ANNA, 1000), 100)
  })

  it('counts bytes of bodies, so a small one may fit when a large one does not', () => {
    const { takeMany } = budgetOf(1002)

    assert.equal(takeMany(ANNA, 1, 'é'.repeat(251)), 0)
    assert.equal(takeMany(ANNA, 1, 'é'.repeat(250)), 1)
    assert.equal(takeMany(ANNA, 1), 0)
  })

  it('G8: is separate for each account', () => {
    const { takeMany } = budgetOf(502 * 10)
    takeMany(ANNA, 100)

    assert.equal(takeMany(BEN, 100), 10)
  })

  it('is not limited by 0', () => {
    assert.equal(budgetOf(0).takeMany(ANNA, 1000, 'x'.repeat(65_536)), 1000)
  })

  it('forgets accounts whose budget is full again', () => {
    const { budget, takeMany, time } = budgetOf(502 * 10)
    takeMany(ANNA, 10)
    time.ms += HOUR_MS / 2
    takeMany(BEN, 10)
    assert.equal(budget.size, 2)

    time.ms += HOUR_MS / 2
    takeMany(BEN, 1)

    assert.equal(budget.size, 1)
    assert.equal(takeMany(BEN, 100), 4)
  })
})
