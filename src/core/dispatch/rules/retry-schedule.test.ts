import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { connectionDelayMs, messageDelayMs } from './retry-schedule.ts'

const MIDDLE = 0.5

describe('the retry schedule', () => {
  it('waits 1, 5, 15, 30 s, 1, 2 and then always 5 minutes for a message', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 100].map((tries) => messageDelayMs(tries, null, MIDDLE) / 1_000)

    assert.deepEqual(waits, [1, 5, 15, 30, 60, 120, 300, 300, 300])
  })

  it('waits 5 s and then twice as long each time, up to 5 minutes, for a connection', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 10_000].map((failures) => connectionDelayMs(failures, null, MIDDLE) / 1_000)

    assert.deepEqual(waits, [5, 10, 20, 40, 80, 160, 300, 300, 300])
  })

  it('draws each wait by up to a fifth either way', () => {
    assert.deepEqual([messageDelayMs(2, null, 0), messageDelayMs(2, null, 0.999_999)], [4_000, 6_000])
    assert.deepEqual([connectionDelayMs(1, null, 0), connectionDelayMs(1, null, 0.999_999)], [4_000, 6_000])
  })

  it('waits as long as the network asks for, but at least a second and never more than an hour', () => {
    const asked = [0, 7_000, 3_600_000, 3_600_001, Number.POSITIVE_INFINITY]

    for (const delay of [messageDelayMs, connectionDelayMs]) {
      assert.deepEqual(
        asked.map((ms) => delay(1, ms, 0.9)),
        [1_000, 7_000, 3_600_000, 3_600_000, 3_600_000],
      )
    }
  })
})
