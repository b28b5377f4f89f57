import type { AccountId } from '../../../core/ids.ts'
import type { AuditEntry, AuditFilter, AuditLog } from '../../../core/ports/console/audit.ts'
import { change, type Reader, type Store, writeAudit } from '../store.ts'

interface Wanted {
  readonly accountId: AccountId
  readonly before: number | null
  readonly limit: number
  readonly filter: AuditFilter
}

export function createAuditLog(store: Store): AuditLog {
  return {
    async list(wanted) {
      const [ofAccount, ofMembers] = await Promise.all([
        selectPage(store.database, wanted).where('audit.account_id', '=', wanted.accountId).execute(),
        ofMembersOf(store.database, wanted).execute(),
      ])
      return [...ofAccount, ...ofMembers]
        .sort((one, other) => other.sequence - one.sequence)
        .slice(0, wanted.limit)
        .map(toEntry)
    },
    noteExport: (accountId, filter, by) =>
      change(store, by, (making) =>
        writeAudit(making, { action: 'audit.export', object: 'audit log', accountId, detail: filter }),
      ),
    note: ({ action, personId, detail }, by) =>
      change(store, by, (making) =>
        writeAudit(making, { action, object: personId ?? 'nobody', accountId: null, ...(detail ? { detail } : {}) }),
      ),
  }
}

function selectPage(tables: Reader, { before, limit, filter: { actor, actions } }: Wanted) {
  const page = tables
    .selectFrom('audit')
    .leftJoin('connection', 'connection.id', 'audit.object')
    .leftJoin('token', 'token.id', 'audit.object')
    .select(({ fn }) => fn.coalesce('connection.number', 'token.name').as('objectName'))
    .select([
      'audit.sequence',
      'audit.at',
      'audit.actor',
      'audit.action',
      'audit.object',
      'audit.detail',
      'audit.remote_address as remoteAddress',
      'audit.user_agent as userAgent',
    ])
    .orderBy('audit.sequence', 'desc')
    .limit(limit)
    .$if(actor !== null, (query) => query.where('audit.actor', '=', actor ?? ''))
    .$if(actions !== null, (query) =>
      query.where((eb) =>
        eb.or(
          (actions ?? []).flatMap((first) => [
            eb('audit.action', '=', first),
            eb('audit.action', 'like', `${first}.%`),
          ]),
        ),
      ),
    )
  return before === null ? page : page.where('audit.sequence', '<', before)
}

/** Entries about a person alone are shown to the managers of the person's membership, from its beginning. */
function ofMembersOf(tables: Reader, wanted: Wanted) {
  return selectPage(tables, wanted)
    .innerJoin('membership as m', (join) =>
      join.onRef('m.person_id', '=', 'audit.person_id').onRef('m.joined_at', '<=', 'audit.at'),
    )
    .where('audit.account_id', 'is', null)
    .where('m.account_id', '=', wanted.accountId)
}

type AuditRow = Awaited<ReturnType<ReturnType<typeof selectPage>['execute']>>[number]

function toEntry(row: AuditRow): AuditEntry {
  return { ...row, detail: row.detail === null ? null : (JSON.parse(row.detail) as Record<string, unknown>) }
}
