import { AUDIT_KINDS, type AuditFilter, type auditRoutes } from '../../../contract/console/audit.ts'
import type { AuditEntry, AuditFilter as Stored } from '../../../core/ports/console/audit.ts'
import { Refusal } from '../../../core/refusals.ts'
import { csvLine } from '../../../format/csv.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import { OpenReplies } from '../open-replies.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'
import { sendLines } from '../send-lines.ts'

const PAGE = 50
const ROWS_AT_ONCE = 100

type Deps = { readonly store: Pick<ConsoleDeps['store'], 'audit'> }

export function auditHandlers({ store: { audit } }: Deps): Handlers<typeof auditRoutes> {
  const exports = new OpenReplies('export')
  return {
    async listAudit({ query: { before, ...filter } }, { accountId }) {
      const wanted = { accountId, before: before ? Number(before) : null, limit: PAGE + 1, filter: toStored(filter) }
      const found = await audit.list(wanted)
      const entries = found.slice(0, PAGE)
      const items = entries.map(({ sequence, ...entry }) => ({
        ...entry,
        id: String(sequence),
        detail: entry.detail && { ...entry.detail },
      }))
      return { items, next: found.length > PAGE ? String(entries.at(-1)?.sequence) : null }
    },
    async checkAuditExport(_, context) {
      exports.check(context)
      return { done: true as const }
    },
    async exportAudit({ query }, context) {
      const onEnd = exports.open(context)
      try {
        // Before the first byte is sent, so that every export is in the audit log.
        await audit.noteExport(context.accountId, { ...query }, context.actor)
        const lines = readLines(audit, toStored(query), context)
        sendLines({ name: 'audit-log', extension: 'csv', type: AUDIT_CSV.type, lines, onEnd }, context)
      } catch (error) {
        onEnd()
        throw error
      }
      return undefined as never
    },
  }
}

async function* readLines(
  audit: Deps['store']['audit'],
  filter: Stored,
  { accountId, role, isStillAuthorized }: AccountRequest,
): AsyncGenerator<string> {
  yield AUDIT_CSV.head
  let before: number | null = null
  do {
    // The download fails, so that a part is not mistaken for the whole.
    if (!(await isStillAuthorized(role))) throw new Refusal('role_too_low')
    const entries = await audit.list({ accountId, before, limit: ROWS_AT_ONCE, filter })
    if (entries.length > 0) yield entries.map(AUDIT_CSV.print).join('')
    before = entries.length === ROWS_AT_ONCE ? (entries.at(-1)?.sequence ?? null) : null
  } while (before !== null)
}

function toStored({ actor, kind }: AuditFilter): Stored {
  return { actor: actor || null, actions: kind === undefined ? null : AUDIT_KINDS[kind] }
}

const COLUMNS: readonly (readonly [name: string, read: (entry: AuditEntry) => string | null])[] = [
  ['at', ({ at }) => new Date(at).toISOString()],
  ['actor', ({ actor }) => actor],
  ['action', ({ action }) => action],
  ['object', ({ object }) => object],
  ['detail', ({ detail }) => (detail === null ? null : JSON.stringify(detail))],
  ['remote_address', ({ remoteAddress }) => remoteAddress],
  ['user_agent', ({ userAgent }) => userAgent],
]

const AUDIT_CSV = {
  type: 'text/csv; charset=utf-8; header=present',
  // Without the byte order mark Excel assumes another encoding.
  head: `\uFEFF${csvLine(COLUMNS.map(([name]) => name))}\r\n`,
  print: (entry: AuditEntry) => `${csvLine(COLUMNS.map(([, read]) => read(entry)))}\r\n`,
} as const
