import { Readable } from 'node:stream'
import { logEntry } from '../../../contract/console/log.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import type { ConsoleStore } from '../../../core/ports/console/console-store.ts'
import type { AccountVisit } from '../handling.ts'
import { showTo } from '../mask.ts'
import { EXPORT_FORMATS } from './print-export.ts'
import { tellEntry } from './tell-entry.ts'

// Some 500 KB at a time, so that a million rows take no more memory than a thousand.
const ROWS_AT_ONCE = 1_000

/** Streams all that a filter finds, page by page, as fast as the reader takes it. */
export function sendExport(
  apiLog: ConsoleStore['apiLog'],
  wanted: { readonly filter: LogFilter; readonly format: keyof typeof EXPORT_FORMATS },
  { accountId, role, now, reply }: AccountVisit,
): void {
  const { type, head, print } = EXPORT_FORMATS[wanted.format]
  async function* lines(): AsyncGenerator<string> {
    if (head !== '') yield head
    let cursor: string | null = null
    do {
      const page = await apiLog.readPage(accountId, { filter: wanted.filter, cursor, limit: ROWS_AT_ONCE })
      const text = page.entries.map((entry) => print(showTo(role, logEntry, tellEntry(entry)))).join('')
      if (text !== '') yield text
      cursor = page.next
    } while (cursor !== null)
  }
  const name = `api-log-${new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')}.${wanted.format}`
  void reply
    .header('content-type', type)
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .send(Readable.from(lines(), { objectMode: false, highWaterMark: 65_536 }))
}
