import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { ConnectionId } from '../../../core/ids.ts'
import { byTurns, takeInTurns as take } from '../../receipts/by-turns.ts'
import { costOf } from './report-cost.ts'
import type { ReportedStatus, StoredReports } from './reported.ts'

const LOUD = 'loud' as ConnectionId
const QUIET = 'quiet' as ConnectionId
const STATUS: ReportedStatus = {
  kind: 'read',
  wamid: 'wamid.A',
  at: 1,
  opaque: null,
  recipient: null,
  code: null,
  words: null,
}
const REFUSED: ReportedStatus = { ...STATUS, kind: 'failed', code: 131047 }

function entry(connectionId: ConnectionId, count: number, status = STATUS) {
  const statuses = Array.from({ length: count }, () => status)
  const stored: StoredReports = { statuses, writers: [], numbers: [], others: [], taker: null, receivedAt: 1, tries: 0 }
  return { connectionId, stored }
}

function takeInTurns(entries: readonly ReturnType<typeof entry>[]) {
  return take(entries, ({ stored }) => costOf(stored))
}

function countsOf(entries: readonly ReturnType<typeof entry>[]) {
  return entries.map(({ connectionId, stored }) => [connectionId, stored.statuses.length])
}

describe('the entries that one query applies', () => {
  it('is of a loud connection no more than its share, and of a quiet one all', () => {
    const loud = Array.from({ length: 20 }, () => entry(LOUD, 100))

    const share = takeInTurns([...loud, entry(QUIET, 1), entry(QUIET, 2)])

    assert.deepEqual(share.filter(({ connectionId }) => connectionId === LOUD).length, 10)
    assert.deepEqual(countsOf(share).slice(10), [
      [QUIET, 1],
      [QUIET, 2],
    ])
  })

  it('is at least one entry, however large, and none overtakes another of its connection', () => {
    const share = takeInTurns([
      entry(LOUD, 900),
      entry(LOUD, 200),
      entry(LOUD, 1),
      entry(QUIET, 5_000),
      entry(QUIET, 1),
    ])

    assert.deepEqual(countsOf(share), [
      [LOUD, 900],
      [QUIET, 5_000],
    ])
  })

  it('is less of what may have to be sent again', () => {
    const share = takeInTurns(Array.from({ length: 20 }, () => entry(LOUD, 10, REFUSED)))

    assert.equal(share.length, 5)
  })

  it('goes by turns', () => {
    const all = [
      { connectionId: LOUD, place: 1 },
      { connectionId: LOUD, place: 2 },
      { connectionId: LOUD, place: 3 },
      { connectionId: QUIET, place: 4 },
    ]

    assert.deepEqual(
      byTurns(all).map(({ place }) => place),
      [1, 4, 2, 3],
    )
  })
})
