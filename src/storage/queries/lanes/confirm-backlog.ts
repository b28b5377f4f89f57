import type { Instant } from '../../../core/ids.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import type { OfConnection } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { selectCancellable } from '../messages/cancel-waiting.ts'
import { change, type Store, touchLane, writeAudit } from '../store.ts'
import { livingConnection } from './living-connection.ts'

/**
 * Approves a backlog that waited for a person. The lane counts as moving from now on: until the time after which a person is
 * asked again, it retries as usual, even if its network is still unreachable.
 */
export function confirmBacklog(store: Store, of: OfConnection, actor: Actor): Promise<void> {
  return change(store, actor, async (making) => {
    const { tables, at } = making
    await livingConnection(tables, of)
    const { numUpdatedRows } = await tables
      .updateTable('lane')
      .set({ last_attempt_at: at, failure_streak: null, wait_reason: null, wait_words: null, wait_until: null })
      .where('connection_id', '=', of.id)
      .where('wait_reason', '=', 'backlog_confirmation')
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n)
      throw new Refusal('lane_not_waiting', 'No backlog of this connection waits for a confirmation.')
    await touchLane(making, of.id)
    await writeAudit(making, { action: 'connection.confirm-backlog', object: of.id, accountId: of.accountId })
  })
}

/** The last one that waits and was accepted before a time, for `cancelWaiting`; null when there is none. */
export async function findLastBefore(store: Store, of: OfConnection, before: Instant): Promise<string | null> {
  const { database } = store
  await livingConnection(database, of)
  const row = await selectCancellable(database, of.id)
    .where('e.accepted_at', '<', before)
    .select(({ fn }) => fn.max('e.sequence').as('last'))
    .executeTakeFirst()
  const last = row?.last ?? null
  return last === null ? null : String(last)
}
