import { sql } from 'kysely'
import type { AccountId, MessageId } from '../../../core/ids.ts'
import type { WaitingPlace } from '../../../core/ports/console/lanes.ts'
import { selectMessages } from '../messages/message-view.ts'
import { type Reader, type Store, snapshot } from '../store.ts'
import { findHeads, selectUnfinished } from './lane-order.ts'
import { explainWaiting, timelineEntryOf } from './lane-reason.ts'

// Counting a thousand takes less than a millisecond, and the end of a longer lane is far away.
const COUNTED = 1_000

export async function findPlaces(
  store: Store,
  accountId: AccountId,
  ids: readonly MessageId[],
): Promise<readonly WaitingPlace[]> {
  const moment = await timelineEntryOf(store)
  return snapshot(store, async (tables) => {
    const sequences = [...(await store.engine.locateMany(tables, ids)).values()]
    if (sequences.length === 0) return []
    const rows = await selectMessages(tables, moment.now)
      .where('m.sequence', 'in', sequences)
      .where('m.account_id', '=', accountId)
      .where('m.state', '=', 'QUEUED')
      .where('o.message_sequence', 'is', null)
      .where('c.state', '<>', 'removed')
      .execute()
    const heads = await findHeads({ tables, engine: store.engine }, [...new Set(rows.map((row) => row.connection_id))])
    const places: WaitingPlace[] = []
    for (const row of rows) {
      const isHead = heads.get(row.connection_id) === row.sequence
      const wait = explainWaiting(row, { ...moment, isHead })
      const isMoving = wait === null || wait.reason === 'due' || wait.reason === 'sending'
      const position = await countUpTo(tables, row)
      places.push({ id: row.id, connectionId: row.connection_id, position, wait: isMoving ? null : wait })
    }
    return places
  })
}

type Row = Awaited<ReturnType<ReturnType<typeof selectMessages>['execute']>>[number]

async function countUpTo(tables: Reader, row: Row): Promise<number | null> {
  const before = selectUnfinished(tables, row.connection_id)
    .select(sql<number>`1`.as('one'))
    .where('e.sequence', '<=', row.sequence)
    .limit(COUNTED + 1)
  const { count } = await tables
    .selectFrom(before.as('b'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count > COUNTED ? null : count
}
