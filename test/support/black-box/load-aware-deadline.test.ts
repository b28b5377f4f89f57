import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { LoadAwareDeadline } from './load-aware-deadline.ts'

describe('load-aware deadline', () => {
  it('ends after its limit on an idle machine', () => {
    const { deadline, pass } = begin()

    pass(1_000, 0)
    const before = deadline.isOver()
    pass(1, 0)

    assert.deepEqual([before, deadline.isOver()], [false, true])
  })

  it('counts a tenth of the time in which the machine was busy', () => {
    const { deadline, pass } = begin()

    pass(9_000, 9_000)
    const before = deadline.isOver()
    pass(1_100, 1_100)

    assert.deepEqual([before, deadline.isOver()], [false, true])
  })

  it('counts time once in which both the processor and the disk were busy', () => {
    const { deadline, pass } = begin()

    pass(10_001, 20_002)

    assert.equal(deadline.isOver(), true)
  })

  it('reads the pressure that this machine reports', () => {
    assert.equal(new LoadAwareDeadline(60_000).isOver(), false)
  })
})

function begin() {
  const now = { at: 0, stalledMs: 0 }
  const deadline = new LoadAwareDeadline(
    1_000,
    () => now.stalledMs,
    () => now.at,
  )
  const pass = (ms: number, stalledMs: number) => {
    now.at += ms
    now.stalledMs += stalledMs
  }
  return { deadline, pass }
}
