import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { createToken, isWellFormedToken, tokenPrefix } from './token-format.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('a token', () => {
  it('has the published form', () => {
    assert.match(createToken(randomBytes), /^nco_[0-9A-Za-z]{38}$/)
  })

  it('ends with the CRC-32 of what stands before, in base 62', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const token = createToken(() => Uint8Array.from(bytes, (byte) => byte % 248))

        const checksum = [...token.slice(36)].reduce((sum, digit) => sum * 62 + ALPHABET.indexOf(digit), 0)

        assert.equal(checksum, crc32(token.slice(0, 36)))
        assert.ok(isWellFormedToken(token))
      }),
    )
  })

  it('pads its checksum on the left', () => {
    const token = 'nco_000000000000000000000000000000bq'

    assert.ok(crc32(token) < 62 ** 4)
    assert.ok(isWellFormedToken(`${token}${toBase62(crc32(token)).padStart(6, '0')}`))
  })

  it('is made of every character equally often: bytes that would favour some are drawn again', () => {
    const draws = [new Uint8Array(32).fill(248), new Uint8Array(32).fill(255), new Uint8Array(32).fill(247)]

    const token = createToken(() => draws.shift()!)

    assert.equal(token.slice(4, 36), 'z'.repeat(32))
  })

  it('is recognised by the first 8 characters after its start', () => {
    assert.equal(tokenPrefix('nco_7Qm2aBcDrest'), '7Qm2aBcD')
  })

  it('with any one character changed is not well formed', () => {
    fc.assert(
      fc.property(fc.nat(41), fc.constantFrom(...ALPHABET), (place, character) => {
        const token = createToken(randomBytes)
        fc.pre(token[place] !== character)

        assert.equal(isWellFormedToken(token.slice(0, place) + character + token.slice(place + 1)), false)
      }),
    )
  })

  it.each([
    ['empty', ''],
    ['only the start', 'nco_'],
    ['a line break at the end', `${createToken(randomBytes)}\n`],
    ['a blank before', ` ${createToken(randomBytes)}`],
    ['two tokens', `${createToken(randomBytes)}, ${createToken(randomBytes)}`],
    ['another start', createToken(randomBytes).replace('nco_', 'ncx_')],
    ['too long by 8 KiB', createToken(randomBytes) + 'a'.repeat(8192)],
  ])('is not well formed: %s', (_, text) => {
    assert.equal(isWellFormedToken(text), false)
  })
})

function toBase62(number: number): string {
  return number < 62 ? ALPHABET.charAt(number) : toBase62(Math.floor(number / 62)) + ALPHABET.charAt(number % 62)
}
