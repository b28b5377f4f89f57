import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { plainTime, relativeTime, shortTime } from './instants.ts'

const NOON = Date.UTC(2026, 0, 15, 12)

describe('times', () => {
  it.each([
    [NOON, 'now'],
    [NOON - 3 * 60_000, '3 minutes ago'],
    [NOON + 30 * 86_400_000 - 5, 'in 30 days'],
    [NOON - 1_000, '1 second ago'],
  ])('%d is %s at noon', (at, text) => {
    assert.equal(relativeTime(at, NOON), text)
  })

  it('have no date within half a day only, because they would be taken for those of another day', () => {
    const halfADay = 12 * 3_600_000

    assert.equal(shortTime(NOON + halfADay - 1, NOON), '23:59 UTC')
    assert.equal(shortTime(NOON + halfADay, NOON), '16 Jan 2026, 00:00:00 UTC')
  })

  it('are plain to the millisecond', () => {
    assert.equal(plainTime(NOON + 5), '2026-01-15 12:00:00.005 UTC')
  })
})
