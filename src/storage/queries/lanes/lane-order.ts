import { sql } from 'kysely'
import type { ConnectionId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Reader, Reading } from '../store.ts'

/** The unfinished messages of one lane. */
export function selectUnfinished(tables: Reader, connectionId: ConnectionId) {
  return tables.selectFrom('waiting as e').where('e.connection_id', '=', connectionId)
}

/** The first unfinished message of each lane; lanes without one are left out. */
export async function findHeads(
  { tables, engine }: Reading,
  connectionIds: readonly ConnectionId[],
): Promise<ReadonlyMap<ConnectionId, Sequence>> {
  if (connectionIds.length === 0) return new Map()
  const rows = await tables
    .selectFrom('connection as c')
    .where('c.id', 'in', connectionIds)
    .select([
      'c.id',
      sql<Sequence | null>`(select e.sequence from ${engine.unfinishedOfC} order by e.sequence limit 1)`.as('head'),
    ])
    .execute()
  return new Map(rows.flatMap(({ id, head }) => (head === null ? [] : [[id, head]])))
}
