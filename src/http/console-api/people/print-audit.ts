import type { AuditEntry } from '../../../core/ports/console/audit.ts'
import { csvLine } from '../../../format/csv.ts'

const COLUMNS: readonly (readonly [name: string, read: (entry: AuditEntry) => string | null])[] = [
  ['at', ({ at }) => new Date(at).toISOString()],
  ['actor', ({ actor }) => actor],
  ['action', ({ action }) => action],
  ['object', ({ object }) => object],
  ['detail', ({ detail }) => (detail === null ? null : JSON.stringify(detail))],
  ['remote_address', ({ remoteAddress }) => remoteAddress],
  ['user_agent', ({ userAgent }) => userAgent],
]

export const AUDIT_CSV = {
  type: 'text/csv; charset=utf-8; header=present',
  // Without the byte order mark Excel assumes another encoding.
  head: `\uFEFF${csvLine(COLUMNS.map(([name]) => name))}\r\n`,
  print: (entry: AuditEntry) => `${csvLine(COLUMNS.map(([, read]) => read(entry)))}\r\n`,
} as const
