import assert from 'node:assert/strict'
import { afterEach, describe, it, vi } from 'vitest'
import { followMidnight, idsToCount, lastMidnight, sentOf } from '../../console/features/connections/sent-today.ts'
import { connectionRoutes } from '../../src/contract/console/connections.ts'
import { newConnectionId } from '../../src/storage/queries/new-id.ts'

const COUNTED = { connectionId: 'con-1', sent: 5, notSent: 1 }
const IDLE = { connectionId: 'con-2', sent: 0, notSent: 0 }
const data = { items: [COUNTED, IDLE], isComplete: true }

describe('what was sent today', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is 0 only if it was counted, and unknown for a connection that the reply does not have', () => {
    const asked = { data, isError: false }

    assert.deepEqual([sentOf(asked, 'con-1'), sentOf(asked, 'con-2')], [COUNTED, IDLE])
    assert.equal(sentOf(asked, 'con-3'), undefined)
    assert.equal(sentOf({ ...asked, data: { ...data, isComplete: false } }, 'con-1'), undefined)
  })

  it('is requested for at most as many connections as one request may name', () => {
    const ids = idsToCount(Array.from({ length: 1_000 }, newConnectionId))

    assert.equal(ids.split(',').length, 200)
    assert.ok(connectionRoutes.countSent.query.safeParse({ ids }).success)
  })

  it('is distinguished from a count that could not be loaded', () => {
    assert.equal(sentOf({ data: undefined, isError: false }, 'con-1'), undefined)
    assert.equal(sentOf({ data: undefined, isError: true }, 'con-1'), null)
    assert.equal(sentOf({ data, isError: true }, 'con-1'), COUNTED)
  })

  it('begins again at midnight on a page that is left open', () => {
    vi.useFakeTimers({ now: new Date(2026, 0, 15, 23, 58, 30) })
    const seen = new Set<number>()

    const stop = followMidnight(() => seen.add(lastMidnight()))
    vi.advanceTimersByTime(3 * 60_000)
    stop()
    vi.advanceTimersByTime(24 * 60 * 60_000)

    assert.deepEqual([...seen], [new Date(2026, 0, 15).getTime(), new Date(2026, 0, 16).getTime()])
  })
})
