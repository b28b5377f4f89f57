import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  deferredText,
  listFilters,
  noMatchText,
  soughtOf,
} from '../../console/features/connections/connection-labels.ts'

describe('the list of connections', () => {
  it('counts each group and all of them, and nothing before the first reply', () => {
    const filters = listFilters({ problem: 2, paused: 1, waiting: 5, ready: 21 })

    assert.deepEqual(
      filters.map(({ label, count }) => `${label} ${count}`),
      ['All 29', 'Problems 2', 'Sending 5', 'Paused 1'],
    )
    assert.ok(listFilters(undefined).every(({ count }) => count === undefined))
  })

  it('says how many messages are deferred, and that there may be more', () => {
    assert.equal(deferredText({ count: 5, recipients: 3, isMore: false }), 'Deferred: 5, to 3 recipients')
    assert.equal(
      deferredText({ count: 1_200, recipients: 1, isMore: true }),
      'Deferred: at least 1,200, to 1 recipient',
    )
  })

  it('repeats the search when nothing was found', () => {
    assert.equal(noMatchText('problem', undefined), 'No connection has a problem.')
    assert.equal(
      noMatchText(undefined, '1777'),
      'No connection of this account has a number that begins with “1777”, or a name with it.',
    )
    assert.match(noMatchText('paused', '1777'), /^No connection of these has /)
  })

  it.each([
    ['+1 (555) 000-10', '155500010'],
    ['1555', '1555'],
    [' Front desk ', 'Front desk'],
    ['Shop 2', 'Shop 2'],
    ['+', '+'],
    ['  ', undefined],
  ])('takes %j as the digits of a number or as a name', (typed, sought) => {
    assert.equal(soughtOf(typed), sought)
  })
})
