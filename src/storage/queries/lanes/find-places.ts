import { sql } from 'kysely'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import type { EarlierMessage } from '../../../core/message/earlier-message.ts'
import type { RetryState } from '../../../core/message/message.ts'
import type { WaitingPlace } from '../../../core/ports/console/lanes.ts'
import { type MessageRow, selectMessages } from '../messages/message-view.ts'
import { type Reader, type Reading, type Store, snapshot } from '../store.ts'
import { findHeads, selectUnfinished } from './lane-order.ts'
import { explainInLane, explainSelf, type LaneContext, laneContextOf } from './lane-reason.ts'
import { type BehindOf, findBehind } from './list-waiting.ts'

// Counting a thousand takes less than a millisecond, and the end of a longer lane is far away.
const COUNTED = 1_000

export async function findPlaces(
  store: Store,
  accountId: AccountId,
  ids: readonly MessageId[],
): Promise<readonly WaitingPlace[]> {
  const context = await laneContextOf(store)
  return snapshot(store, async (tables) => {
    const sequences = [...(await store.engine.locateMany(tables, ids)).values()]
    if (sequences.length === 0) return []
    const rows = await selectMessages(tables, context.now)
      .where('m.sequence', 'in', sequences)
      .where('m.account_id', '=', accountId)
      .where('m.state', '=', 'QUEUED')
      .where('c.state', '<>', 'removed')
      .execute()
    const heads = await readHeads({ tables, engine: store.engine }, rows, context)
    const behindOf = new Map<ConnectionId, BehindOf>()
    const findBehindOf = async (row: MessageRow): Promise<EarlierMessage | null> => {
      const found = behindOf.get(row.connection_id) ?? (await findBehind(tables, row.connection_id, context.now))
      behindOf.set(row.connection_id, found)
      return found(row)
    }
    const places: WaitingPlace[] = []
    for (const row of rows) {
      const head = heads.get(row.connection_id)
      const own = explainSelf(row, { ...context, isHead: head?.sequence === row.sequence })
      const wait = own && explainInLane(own, row, context)
      const position = await countUpTo(tables, row)
      const behind = wait === null && row.open_sequence === null ? await findBehindOf(row) : null
      places.push({
        id: row.id,
        connectionId: row.connection_id,
        isOpen: row.open_sequence !== null,
        position,
        wait,
        behind,
        code: (head && explainInLane(own, head, context)?.reason) ?? null,
        mayHaveLeft: row.retry !== null && (JSON.parse(row.retry) as RetryState).resent,
      })
    }
    return places
  })
}

/** The first message of each lane, which explains those behind it. */
async function readHeads(
  reading: Reading,
  rows: readonly MessageRow[],
  { now }: LaneContext,
): Promise<ReadonlyMap<ConnectionId, MessageRow>> {
  const sequences = await findHeads(reading, [...new Set(rows.map((row) => row.connection_id))])
  if (sequences.size === 0) return new Map()
  const heads = await selectMessages(reading.tables, now)
    .where('m.sequence', 'in', [...sequences.values()])
    .execute()
  return new Map(heads.map((head) => [head.connection_id, head]))
}

async function countUpTo(tables: Reader, row: MessageRow): Promise<number | null> {
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
