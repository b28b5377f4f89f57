import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { axisOf } from '../../console/features/overview/axis.ts'

describe('the axis of a chart', () => {
  it.each([
    [0, [0, 1]],
    [1, [0, 1]],
    [5, [0, 1, 2, 3, 4, 5]],
    [6, [0, 2, 4, 6]],
    [11, [0, 5, 10, 15]],
    [1_234, [0, 500, 1_000, 1_500]],
    [1_000_000, [0, 200_000, 400_000, 600_000, 800_000, 1_000_000]],
  ])('of counts up to %d has the labels %j', (highest, labels) => {
    assert.deepEqual(axisOf(highest), labels)
  })
})
