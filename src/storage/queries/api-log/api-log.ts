import type { ApiLog } from '../../../core/ports/console/api-log.ts'
import { change, type Store, writeAudit } from '../store.ts'
import { countByTime } from './count-by-time.ts'
import { readEntry } from './read-entry.ts'
import { readPage } from './read-page.ts'

export function createApiLog(store: Store): ApiLog {
  return {
    readPage: (accountId, wanted) => readPage(store, { accountId, filter: wanted.filter }, wanted),
    countByTime: (accountId, { filter, offsetMinutes }) => countByTime(store, { accountId, filter }, offsetMinutes),
    readEntry: (accountId, id) => readEntry(store, accountId, id),
    noteExport: (accountId, { format, filter }, actor) =>
      change(store, actor, (making) =>
        writeAudit(making, { action: 'log.export', object: 'API log', accountId, detail: { format, filter } }),
      ),
  }
}
