import type { LogEntry } from '../../../contract/console/log.ts'

// A spreadsheet reads such text as a formula, and formulas can send other cells to any server. Also after blanks, and in
// full-width forms; a spreadsheet may drop a control character first.
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠|%]/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed, except line breaks, which quotes keep.
const CONTROLS = /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]/g
const BEGINS_WITH_CONTROL = /^[\p{Cc}\p{Cf}]/u

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
    head: `\uFEFF${csvLine(COLUMNS.map(([name]) => name))}`,
    print: (entry: LogEntry) => csvLine(COLUMNS.map(([, read]) => read(entry))),
  },
  ndjson: {
    type: 'application/x-ndjson; charset=utf-8',
    head: '',
    print: (entry: LogEntry) => `${JSON.stringify(entry)}\n`,
  },
} as const

/** RFC 4180. */
export function csvLine(values: readonly (string | number | null)[]): string {
  return `${values.map(csvField).join()}\r\n`
}

function csvField(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = withoutFormula(value)
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
}

function withoutFormula(text: string): string {
  const isFormula = FORMULA.test(text) || BEGINS_WITH_CONTROL.test(text)
  const plain = text.replace(CONTROLS, ' ')
  return isFormula ? `'${plain}` : plain
}
