import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { reportedFacts } from './reported-facts.ts'

const NOTHING = { isFlagged: false, throughputPerSecond: null, messagingLimit: null, accountEvent: null }

describe('what Meta reported about a number by callback', () => {
  it('is nothing as long as it reported nothing', () => {
    assert.deepEqual(reportedFacts(NOTHING), [])
  })

  it('is shown with what needs attention', () => {
    const report = {
      isFlagged: true,
      throughputPerSecond: 1_000,
      messagingLimit: 'TIER_1K',
      accountEvent: 'RESTRICTION',
    }

    assert.deepEqual(
      reportedFacts(report).map(({ label, tone }) => [label, tone]),
      [
        ['Quality', 'warning'],
        ['Throughput', 'plain'],
        ['Messaging limit', 'plain'],
        ['Business account', 'warning'],
      ],
    )
  })
})
