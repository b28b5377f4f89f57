import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { csvLine } from './csv-line.ts'

describe('a line of CSV for a sheet', () => {
  it.each([
    '=HYPERLINK("https://x.example")',
    '  =1+1',
    '＝1+1',
    '\u200b=1+1',
    '\n@SUM(1)',
    '|calc',
    '%A1',
    '\u0001text',
  ])('begins what a sheet would take for a formula with a quote mark: %j', (value) => {
    assert.match(csvLine([value]), /^"?'/)
  })

  it('leaves other texts as they are, and quotes by RFC 4180', () => {
    assert.equal(csvLine(['15550100000', 'asked by phone', 'a, "b"', null]), '15550100000,asked by phone,"a, ""b""",')
  })
})
