import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Scanned } from './read-page.ts'
import { mergeSources, type TimedRow } from './read-page.ts'

/** Rows by the times at which they came; their numbers are those times. */
function scanned(
  times: readonly number[],
  position: number | null = null,
  at: number | null = null,
): Scanned<TimedRow> {
  return { rows: times.map((time) => ({ sequence: time, receivedAt: time })), position, at }
}

function timesOf({ rows }: { readonly rows: readonly TimedRow[] }): number[] {
  return rows.map(({ receivedAt }) => receivedAt)
}

describe('merging the two sources of the API log', () => {
  it('orders entries by time', () => {
    const merged = mergeSources(scanned([9, 5, 1]), scanned([8, 7, 2]), 10)

    assert.deepEqual(timesOf(merged), [9, 8, 7, 5, 2, 1])
    assert.deepEqual(merged.position, { messages: null, requests: null })
    assert.equal(merged.scannedBackTo, null)
  })

  it('continues after the last entry of the page', () => {
    const merged = mergeSources(scanned([9, 5, 1], 1), scanned([8, 7, 2]), 3)

    assert.deepEqual(timesOf(merged), [9, 8, 7])
    assert.deepEqual(merged.position, { messages: 6, requests: 3 })
    assert.equal(merged.scannedBackTo, 7)
  })

  it('stops where one source has not been scanned', () => {
    const merged = mergeSources(scanned([9], 6, 6), scanned([8, 7, 2]), 10)

    assert.deepEqual(timesOf(merged), [9, 8, 7])
    assert.deepEqual(merged.position, { messages: 6, requests: 3 })
    assert.equal(merged.scannedBackTo, 6)
  })

  it('reports the later of the two times at which the scans stopped', () => {
    const merged = mergeSources(scanned([], 3, 3), scanned([], 6, 6), 10)

    assert.deepEqual(merged, { rows: [], position: { messages: 3, requests: 6 }, scannedBackTo: 6 })
  })

  it('takes an accepted request as older than a repeat of the same time', () => {
    const accepted = { sequence: 1, receivedAt: 5 }
    const repeat = { sequence: 2, receivedAt: 5 }

    const { rows } = mergeSources(
      { rows: [accepted], position: null, at: null },
      { rows: [repeat], position: null, at: null },
      10,
    )

    assert.deepEqual(rows, [repeat, accepted])
  })
})
