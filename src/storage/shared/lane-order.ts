import { sql } from 'kysely'
import type { ConnectionId } from '../../core/ids.ts'
import type { Sequence } from '../../core/message/message.ts'
import type { Reader } from './store.ts'

// A lane also keeps entries of messages that have come to their end, so the message itself is asked each time. The
// first column must stay the entry's: a lane is found by it, and by nothing else.

/** What is unfinished in the lane of the connection that an outer query stands at, as `e` (entry) and `q` (message). */
export const UNFINISHED_OF_C = sql`(
    select sequence from lane_entry where connection_id = c.id
    union
    select sequence from message where sequence > (select entered_through from lane_mark) and connection_id = c.id
  ) e join message q on q.sequence = e.sequence
  where q.state = 'QUEUED'`

/** What is unfinished in one lane. */
export function selectUnfinished(tables: Reader, connectionId: ConnectionId) {
  return tables
    .selectFrom('waiting as e')
    .innerJoin('message as m', 'm.sequence', 'e.sequence')
    .where('e.connection_id', '=', connectionId)
    .where('m.state', '=', 'QUEUED')
}

/** The first unfinished message of each lane; lanes without one are left out. */
export async function findHeads(
  tables: Reader,
  connectionIds: readonly ConnectionId[],
): Promise<ReadonlyMap<ConnectionId, Sequence>> {
  if (connectionIds.length === 0) return new Map()
  const rows = await tables
    .selectFrom('connection as c')
    .where('c.id', 'in', connectionIds)
    .select([
      'c.id',
      sql<Sequence | null>`(select e.sequence from ${UNFINISHED_OF_C} order by e.sequence limit 1)`.as('head'),
    ])
    .execute()
  return new Map(rows.flatMap(({ id, head }) => (head === null ? [] : [[id, head]])))
}
