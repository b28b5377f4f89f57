import { sql } from 'kysely'
import type { Store } from '../store.ts'
import { changeDeliveries } from './change-deliveries.ts'

const DAY_MS = 86_400_000
/** How long deliveries and their tries are kept; where messages are kept for a shorter time, no longer than those. */
const DELIVERIES_KEPT_DAYS = 30
const AT_ONCE = 200

/** Deletes one small part of the expired rows. False when there was less than that. */
export async function sweepDeliveries(store: Store, messagesDays: number): Promise<boolean> {
  const days = keptDays(messagesDays)
  const isMoreOld = await sweepOld(store, store.now() - days * DAY_MS)
  const isMoreOfAccounts = await sweepOfAccounts(store, days)
  const isMoreRemoved = await sweepRemoved(store)
  return isMoreOld || isMoreOfAccounts || isMoreRemoved
}

function keptDays(messagesDays: number): number {
  return messagesDays === 0 ? DELIVERIES_KEPT_DAYS : Math.min(messagesDays, DELIVERIES_KEPT_DAYS)
}

async function sweepOld(store: Store, before: number): Promise<boolean> {
  const oldest = await store.database
    .selectFrom('notice')
    .select(['position', 'at', 'is_new'])
    .orderBy('position')
    .limit(AT_ONCE)
    .execute()
  const old = oldest.filter(({ at, is_new }) => at < before && is_new === 0).map(({ position }) => position)
  if (old.length === 0) return false
  await forget(store, old)
  return old.length === AT_ONCE
}

/** The expired rows of accounts with shorter times of their own. By webhook, because its deliveries are stored together. */
async function sweepOfAccounts(store: Store, days: number): Promise<boolean> {
  const hooks = await store.database
    .selectFrom('account_retention as r')
    .innerJoin('webhook as w', 'w.account_id', 'r.account_id')
    .select(['w.account_id', 'w.id', 'r.messages_days'])
    .where('r.messages_days', '<', days)
    .where('r.messages_days', '>', 0)
    .execute()
  let isMore = false
  for (const { account_id, id, messages_days } of hooks) {
    const before = store.now() - (messages_days ?? days) * DAY_MS
    const oldest = await store.database
      .selectFrom('delivery as d')
      .innerJoin('notice as n', 'n.position', 'd.notice_position')
      .select(['n.position', 'n.at'])
      .where('d.account_id', '=', account_id)
      .where('d.webhook_id', '=', id)
      .orderBy('d.notice_position')
      .limit(AT_ONCE)
      .execute()
    const old = oldest.filter(({ at }) => at < before).map(({ position }) => position)
    if (old.length > 0) await forget(store, old)
    isMore ||= old.length === AT_ONCE
  }
  return isMore
}

function forget(store: Store, positions: readonly number[]): Promise<void> {
  return changeDeliveries(store, async (tables) => {
    const hooks = await tables
      .selectFrom('delivery')
      .select(['account_id', 'webhook_id'])
      .distinct()
      .where('notice_position', 'in', positions)
      .execute()
    for (const { account_id, webhook_id } of hooks)
      await tables
        .deleteFrom('delivery_try')
        .where('account_id', '=', account_id)
        .where('webhook_id', '=', webhook_id)
        .where('notice_position', 'in', positions)
        .execute()
    await tables.deleteFrom('delivery').where('notice_position', 'in', positions).execute()
    await tables.deleteFrom('notice').where('position', 'in', positions).execute()
  })
}

function sweepRemoved(store: Store): Promise<boolean> {
  return changeDeliveries(store, async (tables) => {
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
  })
}
