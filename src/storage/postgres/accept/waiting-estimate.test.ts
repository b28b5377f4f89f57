import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { WaitingEstimate } from './backlog.ts'

const SECOND = 1_000

describe('the estimate of how much waits', () => {
  it('takes an uncounted backlog for not full, and has it counted at once', () => {
    const estimate = new WaitingEstimate(1)

    estimate.accept()

    assert.equal(estimate.isFull(0, 1), false)
    assert.ok(estimate.countAgainAt(1) <= 0)
  })

  it('adds what was accepted since the count began', () => {
    const estimate = new WaitingEstimate(10)
    estimate.beginCount(0)
    estimate.accept()
    estimate.endCount(8)

    const before = estimate.isFull(1, 1)
    estimate.accept()

    assert.deepEqual([before, estimate.isFull(1, 1)], [false, true])
  })

  it('forgets with the next count what was accepted before it', () => {
    const estimate = new WaitingEstimate(10)
    counted(estimate, 9, 0)
    estimate.accept()

    counted(estimate, 9, SECOND)

    assert.equal(estimate.isFull(SECOND, 1), false)
  })

  it('keeps the old count when a new one fails', () => {
    const estimate = new WaitingEstimate(10)
    counted(estimate, 9, 0)
    estimate.accept()

    estimate.beginCount(SECOND)
    estimate.endCount(null)

    assert.equal(estimate.isFull(SECOND, 1), true)
  })

  it('reckons that other processes accept as much, but for the first second', () => {
    const estimate = new WaitingEstimate(10)
    counted(estimate, 4, 0)
    estimate.accept()
    estimate.accept()

    assert.deepEqual(
      [estimate.isFull(SECOND - 1, 3), estimate.isFull(SECOND, 3), estimate.isFull(SECOND, 1)],
      [false, true, false],
    )
  })

  it('is not counted while the answer cannot matter, and before the limit can be reached', () => {
    const estimate = new WaitingEstimate(100)
    counted(estimate, 0, 0)
    const idle = estimate.countAgainAt(1)

    for (let i = 0; i < 25; i++) estimate.accept()
    const alone = estimate.countAgainAt(1)
    const withAnother = estimate.countAgainAt(2)

    assert.deepEqual([idle, alone, withAnother], [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 250])
  })

  it('is not counted twice at the same time', () => {
    const estimate = new WaitingEstimate(1)
    estimate.beginCount(0)

    assert.equal(estimate.countAgainAt(1), Number.POSITIVE_INFINITY)
  })

  it('is counted now and then while it is more than half full, and each second while it is full', () => {
    const [half, full, huge] = [new WaitingEstimate(100), new WaitingEstimate(100), new WaitingEstimate(1_000_000)]
    counted(half, 51, 0)
    counted(full, 100, 0)
    counted(huge, 1_000_000, 0)

    const rounded = [half, full, huge].map((estimate) => Math.round(estimate.countAgainAt(1) / SECOND))

    assert.deepEqual(rounded, [10, 1, 5])
  })
})

function counted(estimate: WaitingEstimate, count: number, at: number): void {
  estimate.beginCount(at)
  estimate.endCount(count)
}
