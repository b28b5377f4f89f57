import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { expirationAt } from './expiration.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const DAY = 86_400_000

describe('the expiration of a token', () => {
  it('is counted from now on', () => {
    assert.deepEqual(
      (['7d', '30d', '60d', '90d', '1y'] as const).map((choice) => (expirationAt(choice, null, NOON) - NOON) / DAY),
      [7, 30, 60, 90, 365],
    )
  })

  it('is the moment that was chosen, at most two years ahead and the rest of that day', () => {
    const inTwoYears = Date.UTC(2028, 0, 15, 12)

    assert.equal(expirationAt('date', inTwoYears + DAY, NOON), inTwoYears + DAY)
    assert.throws(() => expirationAt('date', inTwoYears + DAY + 1, NOON), { code: 'expiry_invalid' })
  })

  it.each([null, NOON, NOON - 1])('is refused when it is no moment to come: %s', (moment) => {
    assert.throws(() => expirationAt('date', moment, NOON), { code: 'expiry_invalid', field: 'expiresAt' })
  })
})
