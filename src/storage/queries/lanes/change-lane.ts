import type { RetryState, Sequence } from '../../../core/message/message.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import type { LaneViews, OfConnection } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { writeSettings, writeState } from '../connections/connections.ts'
import { type Change, change, type Store, touchLane, writeAudit } from '../store.ts'
import { mayBeEnded } from './endable-waits.ts'
import { selectUnfinished } from './lane-order.ts'
import { livingConnection } from './living-connection.ts'

// The rest goes when its wait is over.
const RETRIES_ENDED = 1_000

export function setState(
  store: Store,
  { of, state }: { readonly of: OfConnection; readonly state: 'active' | 'paused' },
  actor: Actor,
): Promise<void> {
  return change(store, actor, async (making) => {
    await livingConnection(making.tables, of)
    await writeState(making, of, state)
  })
}

export function changeSettings(
  store: Store,
  { of, changed }: { readonly of: OfConnection; readonly changed: Parameters<LaneViews['changeSettings']>[1] },
  actor: Actor,
): Promise<void> {
  return change(store, actor, async (making) => {
    await livingConnection(making.tables, of)
    await writeSettings(making, of, changed)
  })
}

/** The service notices it as any other change of a lane: it reads what the lane remembers afresh, and that is no wait. */
export function endWait(store: Store, of: OfConnection, actor: Actor): Promise<void> {
  return change(store, actor, async (making) => {
    const { tables, at } = making
    const connection = await livingConnection(tables, of)
    if (connection.state === 'paused')
      throw new Refusal('lane_not_waiting', 'This connection is paused. Resume it, then it sends at once.')
    const lane = await tables
      .selectFrom('lane')
      .select(['wait_reason', 'wait_until'])
      .where('connection_id', '=', of.id)
      .executeTakeFirst()
    const reason = lane?.wait_reason ?? null
    const isOver = lane?.wait_until != null && lane.wait_until <= at
    const isEndable = reason !== null && !isOver && mayBeEnded(reason)
    const retries = await endRetryWaits(making, of)
    if (!isEndable && retries === 0) throw new Refusal('lane_not_waiting')
    if (isEndable)
      await tables
        .updateTable('lane')
        .set({ wait_reason: null, wait_words: null, wait_until: null })
        .where('connection_id', '=', of.id)
        .execute()
    await touchLane(making, of.id)
    const { accountId, id } = of
    await writeAudit(making, { action: 'connection.end-wait', object: id, accountId, detail: { reason } })
  })
}

/** Messages that wait for their next try go at once. Returns how many. */
async function endRetryWaits(making: Change, { id }: OfConnection): Promise<number> {
  const { tables } = making
  const rows = await tables
    .selectFrom('message')
    .select(['sequence', 'retry'])
    .where(
      'sequence',
      'in',
      selectUnfinished(tables, id).select('e.sequence').orderBy('e.sequence').limit(RETRIES_ENDED),
    )
    .execute()
  let ended = 0
  for (const row of rows) if (await endRetryWait(making, row)) ended += 1
  return ended
}

/** False when the message does not wait for its next try. */
export async function endRetryWait(
  { tables, at }: Change,
  { sequence, retry }: { readonly sequence: Sequence; readonly retry: string | null },
): Promise<boolean> {
  const state = JSON.parse(retry ?? 'null') as RetryState | null
  if (state?.wait?.kind !== 'retry' || state.wait.until <= at) return false
  const { numUpdatedRows } = await tables
    .updateTable('message')
    .set({ retry: JSON.stringify({ ...state, wait: null }) })
    .where('sequence', '=', sequence)
    // Not over what its worker has written since.
    .where('retry', '=', retry)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
