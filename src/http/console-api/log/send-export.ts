import { logEntry } from '../../../contract/console/log.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import type { ConsoleStore } from '../../../core/ports/console/console-store.ts'
import { Refusal } from '../../../core/refusals.ts'
import { showTo } from '../mask.ts'
import type { AccountRequest } from '../request-context.ts'
import { sendLines } from '../send-lines.ts'
import { presentEntry } from './present-entry.ts'
import { EXPORT_FORMATS } from './print-export.ts'

// Some 40 KB, so that other work does not wait long while a page is read or printed. Larger pages are no faster.
const ROWS_AT_ONCE = 100

interface ExportParts {
  readonly apiLog: ConsoleStore['apiLog']
  /** Called once when the export has ended for any reason. */
  readonly onEnd: () => void
}

/** Streams all matching entries, page by page, as fast as the client reads and while the person has access. */
export function sendExport(
  { apiLog, onEnd }: ExportParts,
  wanted: { readonly filter: LogFilter; readonly format: keyof typeof EXPORT_FORMATS },
  context: AccountRequest,
): void {
  const { type, head, print } = EXPORT_FORMATS[wanted.format]
  const { accountId, role, isStillAuthorized } = context
  sendLines({ name: 'api-log', extension: wanted.format, type, lines: readLines(), onEnd }, context)

  async function* readLines(): AsyncGenerator<string> {
    if (head !== '') yield head
    let cursor: string | null = null
    do {
      // The download fails, so that a part is not mistaken for the whole.
      if (!(await isStillAuthorized(role))) throw new Refusal('role_too_low')
      const page = await apiLog.readPage(accountId, { filter: wanted.filter, cursor, limit: ROWS_AT_ONCE })
      const text = page.entries.map((entry) => print(showTo(role, logEntry, presentEntry(entry)))).join('')
      if (text !== '') yield text
      cursor = page.next
    } while (cursor !== null)
  }
}
