import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { isAnyOf, isSignedByAny, readSignature } from './verify-origin.ts'

// HMAC-SHA256 of RFC 4231, test case 2.
const KEY = 'Jefe'
const DATA = Buffer.from('what do ya want for nothing?')
const DIGEST = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'

describe('the proof that a callback is Meta’s', () => {
  it('is a signature over the very bytes, by any of the secrets', () => {
    const signature = readSignature(`sha256=${DIGEST}`)
    assert.ok(signature)

    assert.equal(isSignedByAny(DATA, signature, ['other', KEY]), true)
    assert.equal(isSignedByAny(DATA, signature, ['other', 'Jeff']), false)
    assert.equal(isSignedByAny(DATA, signature, []), false)
    assert.equal(isSignedByAny(Buffer.concat([DATA, Buffer.from(' ')]), signature, [KEY]), false)
  })

  it.each([
    undefined,
    '',
    DIGEST,
    `sha1=${DIGEST}`,
    `sha256=${DIGEST}0`,
    `sha256=${DIGEST.slice(1)}`,
    `sha256=${DIGEST}\n`,
  ])('is none in any other form: %s', (header) => {
    assert.equal(readSignature(header), null)
  })

  it('is a token that is one of those asked for', () => {
    assert.deepEqual(
      [isAnyOf('token', ['other', 'token']), isAnyOf('toke', ['token']), isAnyOf('', ['token']), isAnyOf('token', [])],
      [true, false, false, false],
    )
  })
})
