import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { laneText, listFilters, noMatchText } from '../../console/features/connections/connection-labels.ts'

describe('the list of connections', () => {
  it('counts each group and all of them, and nothing before the first reply', () => {
    const filters = listFilters({ problem: 2, paused: 1, waiting: 5, ready: 21 })

    assert.deepEqual(
      filters.map(({ label, count }) => `${label} ${count}`),
      ['All 29', 'Problems 2', 'Waiting 5', 'Paused 1'],
    )
    assert.ok(listFilters(undefined).every(({ count }) => count === undefined))
  })

  it('says why a lane waits, or else whether it sends', () => {
    const wait = { list: 'Quiet hours' } as Parameters<typeof laneText>[0]['wait']

    assert.deepEqual(
      [laneText({ group: 'waiting', wait }), laneText({ group: 'waiting', wait: null })],
      ['Quiet hours', 'Sending'],
    )
    assert.equal(laneText({ group: 'ready', wait: null }), 'Ready')
  })

  it('says what was searched for when nothing was found', () => {
    assert.equal(noMatchText('problem', undefined), 'No connection has a problem.')
    assert.equal(noMatchText(undefined, '1777'), 'No number of this account begins with 1777.')
    assert.equal(noMatchText('paused', '1777'), 'No number of these begins with 1777.')
  })
})
