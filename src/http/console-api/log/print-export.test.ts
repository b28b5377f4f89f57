import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { LogEntry } from '../../../contract/console/log.ts'
import { EXPORT_FORMATS } from './print-export.ts'

describe('an export as CSV', () => {
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
  errors: [{ field: 'to', code: 'number_malformed', list: 'No phone number', message: '=bad, “very”' }],
  messageId: null,
  state: null,
  reason: null,
  from: '15550001000',
  to: '+1,555',
  type: 'message',
  connectionId: null,
  token: { id: 'tok_1', name: '=token', isDeleted: false },
  tookMs: 0.8,
  attempts: null,
  summed: null,
}

/** By RFC 4180. */
function readCsvLine(line: string): string[] {
  const fields = [...line.trimEnd().matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g)]
  return fields.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}
