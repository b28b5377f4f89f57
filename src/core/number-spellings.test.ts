import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { namesNumber } from './message/erased.ts'
import { isSameNumber, spellingsOf } from './number-spellings.ts'

const PAIRS = [
  ['5511987654321', '551187654321'],
  ['5215512345678', '525512345678'],
  ['5491145678901', '541145678901'],
  ['5492966123456', '542966123456'],
] as const

describe('a number with two spellings', () => {
  it.each(PAIRS)('is one and the same: %s and %s', (long, short) => {
    assert.deepEqual(
      [spellingsOf(long), spellingsOf(short)],
      [
        [short, long],
        [short, long],
      ],
    )
    assert.ok(isSameNumber(long, `+${short.slice(0, 2)} ${short.slice(2)}`))
  })

  it.each(PAIRS)('is found in a text in either: %s and %s', (long, short) => {
    for (const number of [long, short])
      assert.equal(`${long} and +${short}.`.replaceAll(namesNumber(number), 'x'), 'x and +x.')
  })
})

describe('two numbers', () => {
  it.each([
    ['of two people in Brazil', '5511987654321', '5511887654321'],
    ['of a mobile and a fixed line in Brazil', '5511923456789', '551123456789'],
    ['of other countries', '15551234567', '15551234568'],
    ['too short for a mobile number', '5491145678', '541145678'],
    ['of Germany, with a digit more', '4917012345678', '491712345678'],
    ['of Mexico and Argentina', '525512345678', '545512345678'],
  ])('are not one: %s', (_, one, other) => {
    assert.equal(isSameNumber(one, other), false)
  })
})
