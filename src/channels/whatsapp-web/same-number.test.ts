import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { isSameNumber } from './same-number.ts'

describe('two numbers are the same', () => {
  it.each([
    ['15550001000', '15550001000', true],
    ['15550001000', '15550001001', false],
    ['5511987654321', '551187654321', true],
    ['5511987654321', '551187654322', false],
    ['5215512345678', '525512345678', true],
    ['5491123456789', '541123456789', true],
    // Only where the digit is optional.
    ['4917012345678', '491712345678', false],
  ])('%s and %s: %s', (one, other, isSame) => {
    assert.equal(isSameNumber(one, other), isSame)
  })
})
