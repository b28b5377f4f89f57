import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId, TokenId } from '../ids.ts'
import type { WatchedToken } from '../ports/watch.ts'
import { checkTokens } from './check-tokens.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const HOUR = 3_600_000
const DAY = 24 * HOUR
const ID = 'tok_1' as TokenId

function token(given: Partial<WatchedToken>): WatchedToken {
  const expiresAt = NOON + 100 * DAY
  const names = { id: ID, accountId: 'acc_1' as AccountId, name: 'shop', prefix: 'AbCd' }
  return { ...names, createdAt: NOON - 100 * DAY, expiresAt, lastUsedAt: NOON - HOUR, hasSuccessor: false, ...given }
}

/** Kind and severity of what is found of one token; null when nothing is. */
function checkOne(given: Partial<WatchedToken>, lastCallAgoMs: number | null = null): string | null {
  const uses = lastCallAgoMs === null ? [] : [{ tokenId: ID, lastAt: NOON - lastCallAgoMs }]
  const [found] = checkTokens([token(given)], uses, NOON)
  return found ? `${found.kind} ${found.severity}` : null
}

describe('what is found of tokens', () => {
  it.each([
    ['nothing far from its end', 8 * DAY, null],
    ['a warning a week before', 7 * DAY, 'token_expiring warning'],
    ['the worst on the last day', DAY, 'token_expiring critical'],
  ])('is %s', (_, leftMs, found) => {
    assert.equal(checkOne({ expiresAt: NOON + leftMs }), found)
  })

  it('is nothing of a token for a few days before a fifth of its life is left', () => {
    const lasts = (days: number, agoMs: number) => ({
      createdAt: NOON - agoMs,
      expiresAt: NOON - agoMs + days * DAY,
    })

    assert.equal(checkOne(lasts(7, HOUR)), null)
    assert.equal(checkOne(lasts(10, 7.9 * DAY)), null)
    assert.equal(checkOne(lasts(10, 8 * DAY)), 'token_expiring warning')
    assert.equal(checkOne(lasts(1, 19 * HOUR)), null)
    assert.equal(checkOne(lasts(1, 20 * HOUR)), 'token_expiring critical')
  })

  it('is nothing when the token is not used', () => {
    assert.equal(checkOne({ expiresAt: NOON + HOUR, lastUsedAt: NOON - 31 * DAY }), null)
    assert.equal(checkOne({ expiresAt: NOON + HOUR, lastUsedAt: null }), null)
  })

  it('is the worst when it has expired and is still called with, until that has ended for a day', () => {
    const expired = { expiresAt: NOON - 3 * DAY }

    assert.equal(checkOne(expired, HOUR), 'token_expired_in_use critical')
    assert.equal(checkOne(expired, DAY), null)
    assert.equal(checkOne(expired), null)
    const [found] = checkTokens([token(expired)], [{ tokenId: ID, lastAt: NOON - HOUR }], NOON)
    assert.deepEqual([found?.since, found?.facts['lastCallAt'], found?.object], [NOON - 3 * DAY, NOON - HOUR, ID])
  })
})
