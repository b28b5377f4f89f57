import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { decodeText } from './decode-text.ts'

describe('bytes of a file as text', () => {
  it.each([
    ['Grüße\n', 'Grüße\n'],
    ['\ufeffGrüße', 'Grüße'],
    ['\ufeff', ''],
    ['', ''],
    ['a\ufeffb', 'a\ufeffb'],
  ])('are read as UTF-8, without a byte order mark: %j', (text, read) => {
    assert.deepEqual(decodeText(Buffer.from(text)), { text: read })
  })

  it.each([
    ['UTF-16', Buffer.from('\ufeffabc', 'utf16le'), /UTF-16/],
    ['UTF-16, big end first', Buffer.from('\ufeffabc', 'utf16le').swap16(), /UTF-16/],
    ['UTF-16 without a mark', Buffer.from('abc', 'utf16le'), /UTF-16/],
    ['Latin-1', Buffer.from('abc\ndéf\n', 'latin1'), /not UTF-8 in line 2\./],
    ['half a letter at the end', Buffer.from([0x61, 0xc3]), /not UTF-8 in line 1\./],
  ])('are refused where they are %s', (_, bytes, why) => {
    const decoded = decodeText(bytes)

    assert.match('wrong' in decoded ? decoded.wrong : '', why)
  })
})
