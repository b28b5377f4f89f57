import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Scanned } from './backward-scan.ts'
import { mergeHalves, type TimedRow } from './merge-sources.ts'

/** Rows by the times at which they came; their numbers are those times. */
function looked(times: readonly number[], position: number | null = null, at: number | null = null): Scanned<TimedRow> {
  return { rows: times.map((time) => ({ sequence: time, receivedAt: time })), position, at }
}

function timesOf({ rows }: { readonly rows: readonly TimedRow[] }): number[] {
  return rows.map(({ receivedAt }) => receivedAt)
}

describe('the two halves of the API log', () => {
  it('come together by time', () => {
    const merged = mergeHalves(looked([9, 5, 1]), looked([8, 7, 2]), 10)

    assert.deepEqual(timesOf(merged), [9, 8, 7, 5, 2, 1])
    assert.deepEqual(merged.position, { messages: null, requests: null })
    assert.equal(merged.scannedBackTo, null)
  })

  it('go on with what one page had no room for', () => {
    const merged = mergeHalves(looked([9, 5, 1], 1), looked([8, 7, 2]), 3)

    assert.deepEqual(timesOf(merged), [9, 8, 7])
    assert.deepEqual(merged.position, { messages: 6, requests: 3 })
    assert.equal(merged.scannedBackTo, 7)
  })

  it('show nothing older than what one of them has not looked through', () => {
    const merged = mergeHalves(looked([9], 6, 6), looked([8, 7, 2]), 10)

    assert.deepEqual(timesOf(merged), [9, 8, 7])
    assert.deepEqual(merged.position, { messages: 6, requests: 3 })
    assert.equal(merged.scannedBackTo, 6)
  })

  it('tell the later of the two times at which they have stopped looking', () => {
    const merged = mergeHalves(looked([], 3, 3), looked([], 6, 6), 10)

    assert.deepEqual(merged, { rows: [], position: { messages: 3, requests: 6 }, scannedBackTo: 6 })
  })

  it('have the accepted one be the older of the same moment', () => {
    const accepted = { sequence: 1, receivedAt: 5 }
    const repeat = { sequence: 2, receivedAt: 5 }

    const { rows } = mergeHalves(
      { rows: [accepted], position: null, at: null },
      { rows: [repeat], position: null, at: null },
      10,
    )

    assert.deepEqual(rows, [repeat, accepted])
  })
})
