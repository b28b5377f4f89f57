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
  return { ...names, expiresAt, lastUsedAt: NOON - HOUR, hasSuccessor: false, ...given }
}

/** Kind and severity of what is found of one token; null when nothing is. */
function checkOne(given: Partial<WatchedToken>, lastCallAgoMs: number | null = null): string | null {
  const uses = lastCallAgoMs === null ? [] : [{ tokenId: ID, lastAt: NOON - lastCallAgoMs }]
  const [found] = checkTokens([token(given)], uses, NOON)
  return found ? `${found.kind} ${found.severity}` : null
}

describe('what is found of tokens', () => {
  it.each([
    ['nothing far from its end', 15 * DAY, null],
    ['a word two weeks before', 14 * DAY, 'token_expiring info'],
    ['a warning a week before', 7 * DAY, 'token_expiring warning'],
    ['the worst on the last day', DAY, 'token_expiring critical'],
  ])('is %s', (_, leftMs, found) => {
    assert.equal(checkOne({ expiresAt: NOON + leftMs }), found)
  })

  it('is only an info when the token is not used', () => {
    assert.equal(checkOne({ expiresAt: NOON + HOUR, lastUsedAt: NOON - 31 * DAY }), 'token_expiring info')
    assert.equal(checkOne({ expiresAt: NOON + HOUR, lastUsedAt: null }), 'token_expiring info')
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
