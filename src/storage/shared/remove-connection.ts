import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import type { Actor } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { cancelledEnd } from './cancelled-end.ts'
import { selectUnfinished } from './lane-order.ts'
import { type Change, change, type Reader, type Store, touchLane, writeAudit } from './store.ts'

// About 20 ms of writing on a laptop: the service accepts messages at the same time and must not wait long for its turn.
const CANCELLED_AT_ONCE = 2_000
const GAP_FOR_OTHER_WRITERS_MS = 10

/**
 * A long line is cancelled in several transactions, the last of which removes the connection. Cut off in between, the
 * connection is left paused with fewer messages, and the same command finishes the work.
 */
export async function removeConnection(
  store: Store,
  { id, cancelWaiting }: { readonly id: ConnectionId; readonly cancelWaiting: boolean },
  actor: Actor,
): Promise<number> {
  let cancelled = 0
  for (;;) {
    const step = await change(store, actor, (making) => removeStep(making, id, cancelWaiting))
    cancelled += step.cancelled
    if (step.removed) return cancelled
    await pause(GAP_FOR_OTHER_WRITERS_MS)
  }
}

async function removeStep(
  making: Change,
  id: ConnectionId,
  cancelWaiting: boolean,
): Promise<{ cancelled: number; removed: boolean }> {
  const { tables, engine, at } = making
  // First of all: what is just being accepted would stay behind, on a connection that nobody sends for any more. And
  // with the lane's last messages comes the one that is being handed over, when there are no more than these.
  await engine.lockLane(tables, id)
  await engine.lockLastWaiting(tables, id, CANCELLED_AT_ONCE + 1)
  const connection = await tables
    .selectFrom('connection')
    .selectAll()
    .where('id', '=', id)
    .where('state', '<>', 'removed')
    .executeTakeFirst()
  if (!connection) throw new Refusal('connection_unknown', 'This connection was removed already.')
  if (!cancelWaiting) await refuseWaiting(tables, id)

  const { found, cancelled } = await cancelSome(making, id)
  const removed = found < CANCELLED_AT_ONCE
  await tables
    .updateTable('connection')
    .set(removed ? { state: 'removed', removed_at: at } : { state: 'paused' })
    .where('id', '=', id)
    .execute()
  await touchLane(making, id)
  await noteRemoval(making, { id, number: connection.number, accountId: connection.account_id, cancelled, removed })
  return { cancelled, removed }
}

async function refuseWaiting(tables: Reader, id: ConnectionId): Promise<void> {
  const { waiting } = await waitingOf(tables, id)
    .select(({ fn }) => fn.countAll<number>().as('waiting'))
    .executeTakeFirstOrThrow()
  if (waiting === 0) return
  const subject = waiting === 1 ? '1 message waits' : `${waiting} messages wait`
  throw new Refusal(
    'connection_has_waiting',
    `${subject} on this connection; removing it cancels them. Say --cancel-waiting to do so.`,
  )
}

/** What waits, without the message that is just being handed over: cutting that off would leave its fate unknown. */
function waitingOf(tables: Reader, id: ConnectionId) {
  return selectUnfinished(tables, id).where('e.sequence', 'not in', (open) =>
    open.selectFrom('open_attempt').select('message_sequence').where('connection_id', '=', id),
  )
}

async function cancelSome({ tables, at }: Change, id: ConnectionId): Promise<{ found: number; cancelled: number }> {
  // The last ones first, so that what is still sent meanwhile is sent in order and without gaps.
  const rows = await waitingOf(tables, id)
    .select('e.sequence')
    .orderBy('e.sequence', 'desc')
    .limit(CANCELLED_AT_ONCE)
    .execute()
  if (rows.length === 0) return { found: 0, cancelled: 0 }
  const ended = await tables
    .updateTable('message')
    .set({ ...cancelledEnd('connection_removed'), settled_at: at })
    .where(
      'sequence',
      'in',
      rows.map((row) => row.sequence),
    )
    .where('state', '=', sql.lit('QUEUED'))
    .returning('sequence')
    .execute()
  const sequences = ended.map((row) => row.sequence)
  if (sequences.length === 0) return { found: rows.length, cancelled: 0 }
  // Or each further batch would read past all that the ones before have cancelled.
  await tables.deleteFrom('lane_entry').where('connection_id', '=', id).where('sequence', 'in', sequences).execute()
  await tables
    .updateTable('media')
    .set({ state: 'forgotten', ended_at: at })
    .where('message_sequence', 'in', sequences)
    .where('state', '=', 'pending')
    .execute()
  return { found: rows.length, cancelled: sequences.length }
}

async function noteRemoval(
  making: Change,
  what: { id: ConnectionId; number: string; accountId: AccountId; cancelled: number; removed: boolean },
): Promise<void> {
  const { id, number, accountId, cancelled, removed } = what
  const action = removed ? 'connection.remove' : 'connection.cancel-waiting'
  await writeAudit(making, { action, object: id, accountId, detail: { number, cancelled } })
}
