import type { Actor, HoldView } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { change, type Store, writeAudit } from './store.ts'

/** Null while lanes may move. */
export async function readHold({ database }: Store): Promise<HoldView | null> {
  const row = await database.selectFrom('hold').select(['since', 'reason']).executeTakeFirst()
  return row ?? null
}

export function releaseHold(store: Store, actor: Actor): Promise<HoldView> {
  return change(store, actor, async (making) => {
    const held = await making.tables.deleteFrom('hold').returning(['since', 'reason']).executeTakeFirst()
    if (!held) throw new Refusal('lanes_not_held')
    await writeAudit(making, { action: 'hold.release', object: 'all lanes', accountId: null, detail: { ...held } })
    return held
  })
}
