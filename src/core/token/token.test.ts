import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId, TokenId } from '../ids.ts'
import { isUsable, type Token } from './token.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const TOKEN: Token = {
  id: 'token' as TokenId,
  accountId: 'account' as AccountId,
  events: [],
  expiresAt: NOON,
  deletedAt: null,
  connectionIds: null,
  sourceRanges: null,
}

describe('a token', () => {
  it('is usable until the millisecond in which it expires', () => {
    assert.deepEqual(
      [isUsable(TOKEN, NOON - 1), isUsable(TOKEN, NOON), isUsable(TOKEN, NOON + 1)],
      [true, false, false],
    )
  })

  it('G7: is not usable once it is deleted, whatever the clock says', () => {
    assert.equal(isUsable({ ...TOKEN, deletedAt: NOON }, NOON - 1_000), false)
  })
})
