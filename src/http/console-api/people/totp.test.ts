import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { base32, findTotpStep, totpCode, totpUri } from './totp.ts'

const SECRET = Buffer.from('12345678901234567890')

describe('codes of six digits', () => {
  // RFC 6238, appendix B, of which these are the last six digits.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('at %d s are those of the standard', (seconds, code) => {
    assert.equal(totpCode(SECRET, Math.floor(seconds / 30)), code)
    assert.equal(findTotpStep(SECRET, code, seconds * 1_000), Math.floor(seconds / 30))
  })

  it('are refused when they are no six digits', () => {
    for (const code of ['', '28708', '2870822', '28708a', '２８７０８２'])
      assert.equal(findTotpStep(SECRET, code, 59_000), null)
  })

  it('come to an app by a URI', () => {
    assert.equal(
      totpUri(SECRET, 'anna+x@example.org'),
      'otpauth://totp/Nuncio:anna%2Bx%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Nuncio&algorithm=SHA1&digits=6&period=30',
    )
  })

  it.each([
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foobar', 'MZXW6YTBOI'],
  ])('%s is %s in base32', (text, expected) => assert.equal(base32(Buffer.from(text)), expected))
})
