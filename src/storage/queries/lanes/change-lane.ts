import type { Actor } from '../../../core/ports/administration.ts'
import type { LaneViews, OfConnection } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { writeSettings, writeState } from '../connections/connections.ts'
import { change, type Store, touchLane, writeAudit } from '../store.ts'
import { mayBeEnded } from './endable-waits.ts'
import { livingConnection } from './living-connection.ts'

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
    if (reason === null || isOver || !mayBeEnded(reason)) throw new Refusal('lane_not_waiting')
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
