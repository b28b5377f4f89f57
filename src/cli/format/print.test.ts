import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { escapeHidden, printable, shorten } from './printable.ts'
import { printTable } from './table.ts'

describe('text from outside', () => {
  it('cannot drive the terminal', () => {
    assert.equal(printable('a\u001b[31mb\tc\nd\u202ee'), 'a\\u001b[31mb c⏎d\\u202ee')
    assert.equal(printable('a\u200bb\u2060\ufeff\u{e0041}'), 'a\\u200bb\\u2060\\ufeff\\udb40\\udc41')
  })

  it('means the same as JSON after it was written out', () => {
    const json = JSON.stringify({ name: 'a\u200b\u202e\u0085\u{e0041}👍' }, null, 2)

    assert.doesNotMatch(escapeHidden(json), /\p{Cf}/u)
    assert.equal(JSON.stringify(JSON.parse(escapeHidden(json)), null, 2), json)
  })

  it('is cut by characters, not in the middle of one', () => {
    assert.equal(shorten('👍👍👍👍', 3), '👍👍…')
    assert.equal(shorten('abc', 3), 'abc')
  })
})

describe('a table', () => {
  async function print(rows: string[][]): Promise<string> {
    let text = ''
    const out = async (part: string) => {
      text += part
    }
    await printTable({ columns: ['A', 'LONGER'], rows, whenEmpty: 'Nothing.' }, { out, heading: (line) => line })
    return text
  }

  it('is aligned, also under characters of several bytes', async () => {
    assert.equal(
      await print([
        ['äöü', 'x'],
        ['a', 'yy'],
      ]),
      'A    LONGER\näöü  x\na    yy\n',
    )
  })

  it('says what to do when it is empty', async () => {
    assert.equal(await print([]), 'Nothing.\n')
  })

  it('begins before it has read a long list, and loses no row', async () => {
    const rows = Array.from({ length: 450 }, (_, index) => [String(index), 'x'])

    assert.equal((await print(rows)).split('\n').length, 452)
  })
})
