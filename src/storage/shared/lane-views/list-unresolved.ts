import { sql } from 'kysely'
import type { LaneViews } from '../../../core/ports/console/lanes.ts'
import { type Store, snapshot } from '../store.ts'

const PAGE = 20
// Those of all accounts lie in one index, so another account may have many in between.
const MOST_LOOKED_AT = 5_000

export function listUnresolved(
  store: Store,
  { accountId, connectionId, after }: Parameters<LaneViews['listUnresolved']>[0],
): ReturnType<LaneViews['listUnresolved']> {
  return snapshot(store, async (tables) => {
    const looked = tables
      .selectFrom('message')
      .select('sequence')
      .where('state', '=', sql.lit('UNCONFIRMED'))
      .where('resolved_at', 'is', null)
      .where('sequence', '<', before(after))
      .orderBy('sequence', 'desc')
      .limit(MOST_LOOKED_AT)
    const rows = await looked.execute()
    const wanted = rows.map(({ sequence }) => sequence)
    if (wanted.length === 0) return { items: [], next: null }
    const found = await tables
      .selectFrom('message as m')
      .innerJoin('connection as c', 'c.id', 'm.connection_id')
      .select(['m.sequence', 'm.id', 'm.recipient', 'm.connection_id', 'c.number', 'm.type', 'm.accepted_at'])
      .select(['m.settled_at', 'm.attempts', 'm.reason', 'm.words'])
      .where('m.account_id', '=', accountId)
      .where('m.state', '=', sql.lit('UNCONFIRMED'))
      .where('m.resolved_at', 'is', null)
      .where('m.sequence', '<=', wanted[0] ?? 0)
      .where('m.sequence', '>=', wanted.at(-1) ?? 0)
      .$if(connectionId !== null, (query) => query.where('m.connection_id', '=', connectionId ?? ('' as never)))
      .orderBy('m.sequence', 'desc')
      .limit(PAGE + 1)
      .execute()
    const items = found.slice(0, PAGE).map((row) => ({
      id: row.id,
      to: row.recipient,
      connectionId: row.connection_id,
      connection: row.number,
      type: row.type,
      acceptedAt: row.accepted_at,
      settledAt: row.settled_at,
      attempts: row.attempts,
      reason: row.reason,
      words: row.words,
    }))
    const goesOnBelow =
      found.length > PAGE ? found[PAGE - 1]?.sequence : wanted.length === MOST_LOOKED_AT ? wanted.at(-1) : null
    return { items, next: goesOnBelow == null ? null : String(goesOnBelow) }
  })
}

function before(cursor: string | null): number {
  return cursor !== null && /^\d{1,16}$/.test(cursor) ? Number(cursor) : Number.MAX_SAFE_INTEGER
}
