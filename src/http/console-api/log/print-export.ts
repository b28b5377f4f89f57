import type { LogEntry } from '../../../contract/console/log.ts'
import { csvLine } from '../../../format/csv.ts'

const COLUMNS: readonly (readonly [name: string, read: (entry: LogEntry) => string | number | null])[] = [
  ['received_at', ({ receivedAt }) => new Date(receivedAt).toISOString()],
  ['status', ({ status }) => status],
  ['code', ({ code }) => code],
  ['name', ({ name }) => name],
  ['outcome', ({ outcome }) => outcome],
  ['state', ({ state }) => state],
  ['reason', ({ reason }) => reason?.code ?? null],
  ['reason_meaning', ({ reason }) => reason?.meaning ?? null],
  ['from', ({ from }) => from],
  ['to', ({ to }) => to],
  ['type', ({ type }) => type],
  ['token', ({ token }) => token?.name ?? null],
  ['took_ms', ({ tookMs }) => tookMs],
  ['attempts', ({ attempts }) => attempts],
  [
    'errors',
    ({ errors, summed }) =>
      errors
        // In an entry for many requests the fields may differ.
        .map(({ field, code, message }) => `${summed ? '' : `${field ?? 'request'}: `}${message} (${code})`)
        .join('; '),
  ],
  ['message_id', ({ messageId }) => messageId],
  ['request_id', ({ requestId }) => requestId],
  // More than one: the entry stands for this many refused requests, from `requests_since` to `received_at`. Messages made by
  // a person have none.
  ['requests', ({ summed, outcome }) => summed?.requests ?? (outcome === 'copied' ? null : 1)],
  ['requests_since', ({ summed }) => (summed ? new Date(summed.since).toISOString() : null)],
]

export const EXPORT_FORMATS = {
  csv: {
    type: 'text/csv; charset=utf-8; header=present',
    // Without the byte order mark Excel assumes another encoding.
    head: `\uFEFF${csvLine(COLUMNS.map(([name]) => name))}\r\n`,
    print: (entry: LogEntry) => `${csvLine(COLUMNS.map(([, read]) => read(entry)))}\r\n`,
  },
  ndjson: {
    type: 'application/x-ndjson; charset=utf-8',
    head: '',
    print: (entry: LogEntry) => `${JSON.stringify(entry)}\n`,
  },
} as const
