import { sql } from 'kysely'
import type { AccountId } from '../../../core/ids.ts'
import type { Actor, HoldView } from '../../../core/ports/administration.ts'
import { Refusal } from '../../../core/refusals.ts'
import { isOnlyAccount } from '../people/is-only-account.ts'
import { type Change, change, type Store, writeAudit } from '../store.ts'
import { noteHold } from './standstills.ts'

/** Null while lanes may move. */
export async function readHold({ database }: Store): Promise<HoldView | null> {
  const row = await database.selectFrom('hold').select(['since', 'reason']).executeTakeFirst()
  return row ? { ...row } : null
}

export function holdLanes(store: Store, reason: string, actor: Actor): Promise<HoldView> {
  return change(store, actor, async (making) => {
    const { tables, at } = making
    // A process with a later checkpoint need not hold the lanes again, because a person is checking. This row is locked first,
    // as by a service that holds lanes.
    await tables
      .updateTable('checkpoint')
      .set(({ eb }) => ({ holds: eb('holds', '+', 1) }))
      .execute()
    const held = await tables
      .insertInto('hold')
      .values({ only: 1, since: at, reason })
      .onConflict((conflict) => conflict.doNothing())
      .returning('since')
      .executeTakeFirst()
    if (!held) throw new Refusal('lanes_held_already')
    // The database may be a restored backup, and later attempts may have followed these (G12).
    await tables
      .updateTable('open_attempt')
      .set((its) => ({ possibly_superseded_sequence: its.ref('message_sequence') }))
      .execute()
    await writeAudit(making, { action: 'hold.place', object: 'all numbers', accountId: null, detail: { reason } })
    return { since: at, reason }
  })
}

export function releaseHold(store: Store, actor: Actor): Promise<HoldView> {
  return change(store, actor, (making) => release(making, null))
}

/** For an owner: refuses with `hold_of_installation` where the hold concerns other accounts, too (G8). */
export function releaseOwnHold(store: Store, accountId: AccountId, actor: Actor): Promise<HoldView> {
  return change(store, actor, async (making) => {
    if (!(await isOnlyAccount(making.tables, accountId))) throw new Refusal('hold_of_installation')
    return release(making, accountId)
  })
}

async function release(making: Change, accountId: AccountId | null): Promise<HoldView> {
  const row = await making.tables.deleteFrom('hold').returning(['since', 'reason']).executeTakeFirst()
  if (!row) throw new Refusal('lanes_not_held')
  const held = { ...row }
  await noteHold(making, held)
  await touchWaitingLanes(making)
  await writeAudit(making, { action: 'hold.release', object: 'all numbers', accountId, detail: held })
  return held
}

async function touchWaitingLanes({ tables, engine }: Change): Promise<void> {
  const waiting = tables
    .selectFrom('connection as c')
    .select('c.id')
    .where('c.state', '=', 'active')
    .where(sql<boolean>`exists (select 1 from ${engine.unfinishedOfC})`)
  await tables.insertInto('lane_change').columns(['connection_id']).expression(waiting).execute()
}
