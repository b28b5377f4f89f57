import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { reportedFacts } from './reported-facts.ts'

const NOTHING = { isFlagged: false, throughputPerSecond: null, messagingLimit: null, accountEvent: null }

describe('what Meta told of a number by callback', () => {
  it('is nothing as long as it told nothing', () => {
    assert.deepEqual(reportedFacts(NOTHING), [])
  })

  it('is shown with what should be looked at', () => {
    const told = { isFlagged: true, throughputPerSecond: 1_000, messagingLimit: 'TIER_1K', accountEvent: 'RESTRICTION' }

    assert.deepEqual(
      reportedFacts(told).map(({ label, tone }) => [label, tone]),
      [
        ['Quality', 'warning'],
        ['Throughput', 'plain'],
        ['Messaging limit', 'plain'],
        ['Business account', 'warning'],
      ],
    )
  })
})
