import { sql, type Transaction } from 'kysely'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.ts'

const DAY_MS = 86_400_000
/** How long deliveries and their tries are kept. */
export const DELIVERIES_KEPT_MS = 30 * DAY_MS
const AT_ONCE = 200

/** One small part of what is to be forgotten. False when there was less than that. */
export function sweepDeliveries(store: Store): Promise<boolean> {
  return store.database.transaction().execute(async (tables) => {
    const isMoreOld = await sweepOld(tables, store.now() - DELIVERIES_KEPT_MS)
    const isMoreRemoved = await sweepRemoved(tables)
    return isMoreOld || isMoreRemoved
  })
}

async function sweepOld(tables: Transaction<Tables>, before: number): Promise<boolean> {
  const oldest = await tables
    .selectFrom('notice')
    .select(['position', 'at', 'is_new'])
    .orderBy('position')
    .limit(AT_ONCE)
    .execute()
  const old = oldest.filter(({ at, is_new }) => at < before && is_new === 0).map(({ position }) => position)
  if (old.length === 0) return false
  const rows = await tables
    .selectFrom('delivery')
    .select(['account_id', 'webhook_id', 'notice_position'])
    .where('notice_position', 'in', old)
    .execute()
  for (const row of rows)
    await tables
      .deleteFrom('delivery_try')
      .where('account_id', '=', row.account_id)
      .where('webhook_id', '=', row.webhook_id)
      .where('notice_position', '=', row.notice_position)
      .execute()
  await tables.deleteFrom('delivery').where('notice_position', 'in', old).execute()
  await tables.deleteFrom('notice').where('position', 'in', old).execute()
  return old.length === AT_ONCE
}

async function sweepRemoved(tables: Transaction<Tables>): Promise<boolean> {
  const hook = await tables
    .selectFrom('webhook')
    .select(['account_id', 'id'])
    .where('state', '=', sql.lit('removed'))
    .limit(1)
    .executeTakeFirst()
  if (!hook) return false
  const ofHook = (table: 'delivery' | 'delivery_try') =>
    tables.deleteFrom(table).where('account_id', '=', hook.account_id).where('webhook_id', '=', hook.id)
  const rows = await tables
    .selectFrom('delivery')
    .select('notice_position')
    .where('account_id', '=', hook.account_id)
    .where('webhook_id', '=', hook.id)
    .orderBy('notice_position')
    .limit(AT_ONCE)
    .execute()
  const positions = rows.map((row) => row.notice_position)
  if (positions.length === 0) {
    await tables.deleteFrom('webhook').where('account_id', '=', hook.account_id).where('id', '=', hook.id).execute()
    return true
  }
  await ofHook('delivery_try').where('notice_position', 'in', positions).execute()
  await ofHook('delivery').where('notice_position', 'in', positions).execute()
  return true
}
