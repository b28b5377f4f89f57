import type { LogFilterOutput, logRoutes } from '../../../contract/console/log.ts'
import { hintOf } from '../../../core/ports/recipients.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import { NUMBER } from '../mask.ts'
import { OpenReplies } from '../open-replies.ts'
import type { Handlers } from '../request-context.ts'
import { presentRow } from './present-entry.ts'
import { presentTimeline } from './present-timeline.ts'
import { readFilter } from './read-filter.ts'
import { sendExport } from './send-export.ts'

type Deps = Pick<ConsoleDeps, 'publicUrl'> & { readonly store: Pick<ConsoleDeps['store'], 'apiLog'> }

export function logHandlers({ store: { apiLog }, publicUrl }: Deps): Handlers<typeof logRoutes> {
  const exports = new OpenReplies('export')
  return {
    async listLog({ query: { cursor = null, limit, ...filter } }, { accountId, role }) {
      const page = await apiLog.readPage(accountId, { filter: readFilter(filter, role), cursor, limit })
      const { entries, next, scannedBackTo } = page
      return { items: entries.map((entry) => presentRow(entry)), next, scannedBackTo }
    },

    async countLog({ query: { offset, ...filter } }, { accountId, role }) {
      const counts = await apiLog.countByTime(accountId, { filter: readFilter(filter, role), offsetMinutes: offset })
      return { counts: counts && { ...counts, bars: [...counts.bars] } }
    },

    async showLogEntry({ params: { id } }, { accountId, role }) {
      return presentTimeline(await apiLog.readEntry(accountId, id), { publicUrl, role })
    },

    async checkExport(_, context) {
      exports.check(context)
      return { done: true as const }
    },

    async exportLog({ query: { format, ...given } }, context) {
      const { accountId, actor, role } = context
      const filter = readFilter(given, role)
      const onEnd = exports.open(context)
      try {
        // Before the first byte is sent, so that every export is in the audit log.
        await apiLog.noteExport(accountId, { format, filter: JSON.stringify(hideNumbers(given)) }, actor)
        sendExport({ apiLog, onEnd }, { filter, format }, context)
      } catch (error) {
        onEnd()
        throw error
      }
      return undefined as never
    },
  }
}

/** The audit log keeps at most the last two digits of a recipient: nothing in it is ever erased. */
function hideNumbers({ to, text, ...filter }: LogFilterOutput) {
  return {
    ...filter,
    ...(to === undefined ? {} : { to: hintOf(to) }),
    ...(text === undefined ? {} : { text: text.replace(NUMBER, hintOf) }),
  }
}
