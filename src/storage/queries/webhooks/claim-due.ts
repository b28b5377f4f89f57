import { randomUUID } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import { type DueWebhook, type Room, type Share, shareOut } from '../../../core/notifications/fair-scheduling.ts'
import type { ClaimedDelivery } from '../../../core/ports/deliveries.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.generated.ts'
import { changeDeliveries } from './change-deliveries.ts'
import { updateWebhook } from './webhook-rows.ts'
import { LONGEST_AHEAD_MS } from './write-notifications.ts'

// Among the webhooks with a due delivery, those that have waited longest are read: this many that work, and this many that fail.
const MOST_WEBHOOKS_READ = 500

interface ClaimWanted extends Room {
  readonly leaseMs: number
}

/** See `Deliveries.claimDue`. A claim moves `next_try_at` ahead: until then no other process takes the delivery. */
export function claimDue(store: Store, { leaseMs, ...room }: ClaimWanted): Promise<readonly ClaimedDelivery[]> {
  return changeDeliveries(store, async (tables) => {
    const now = store.now()
    const due = await findDue(tables, now)
    const claimed: ClaimedDelivery[] = []
    for (const share of shareOut(due, room)) claimed.push(...(await claimShare(tables, share, { now, leaseMs })))
    return claimed
  })
}

async function findDue(tables: Transaction<Tables>, now: Instant): Promise<readonly DueWebhook[]> {
  // Queried separately, because only a few failing webhooks may be tried at once and the working ones must not wait behind them.
  const rows = [
    ...(await dueWebhooks(tables, now, 'is').execute()),
    ...(await dueWebhooks(tables, now, 'is not').execute()),
  ]
  if (rows.length === 0) return []
  const running = await tables
    .selectFrom('delivery')
    .select(['account_id', 'webhook_id', sql<number>`count(*)`.as('count')])
    .where('claim', 'is not', null)
    .where('next_try_at', '>', now)
    .where('next_try_at', '<=', now + LONGEST_AHEAD_MS)
    .groupBy(['account_id', 'webhook_id'])
    .execute()
  const ofWebhooks = new Map(running.map((row) => [`${row.account_id} ${row.webhook_id}`, Number(row.count)]))
  const ofAccounts = new Map<AccountId, number>()
  for (const { account_id, count } of running)
    ofAccounts.set(account_id, (ofAccounts.get(account_id) ?? 0) + Number(count))
  return rows.map((row) => ({
    accountId: row.account_id,
    webhookId: row.id,
    isFailing: row.failing_since !== null,
    servedAt: row.served_at,
    running: ofWebhooks.get(`${row.account_id} ${row.id}`) ?? 0,
    runningOfAccount: ofAccounts.get(row.account_id) ?? 0,
  }))
}

/** `failing_since` is null for those that work. */
function dueWebhooks(tables: Transaction<Tables>, now: Instant, failingSince: 'is' | 'is not') {
  return tables
    .selectFrom('webhook as w')
    .select(['w.account_id', 'w.id', 'w.failing_since', 'w.served_at'])
    .where('w.state', '=', 'enabled')
    .where('w.failing_since', failingSince, null)
    .where((where) => {
      const waiting = where
        .selectFrom('delivery as d')
        .select('d.webhook_id')
        .whereRef('d.account_id', '=', 'w.account_id')
        .whereRef('d.webhook_id', '=', 'w.id')
        .where('d.state', '=', sql.lit('waiting'))
      // Two index lookups: one query for both would scan the whole index.
      return where.or([
        where.exists(waiting.where('d.next_try_at', '<=', now)),
        where.exists(waiting.where('d.next_try_at', '>', now + LONGEST_AHEAD_MS)),
      ])
    })
    .orderBy('w.served_at')
    .limit(MOST_WEBHOOKS_READ)
}

async function claimShare(
  tables: Transaction<Tables>,
  { webhook: { accountId, webhookId, isFailing }, most }: Share,
  { now, leaseMs }: { readonly now: Instant; readonly leaseMs: number },
): Promise<readonly ClaimedDelivery[]> {
  const waiting = tables
    .selectFrom('delivery as d')
    .innerJoin('notice as n', 'n.position', 'd.notice_position')
    .innerJoin('webhook as w', (join) =>
      join.onRef('w.account_id', '=', 'd.account_id').onRef('w.id', '=', 'd.webhook_id'),
    )
    .select([
      'd.notice_position as position',
      'd.tries',
      'd.tries_before',
      'd.payload',
      'n.id as notice_id',
      'w.url',
      'w.secret',
      'w.old_secret',
      'w.old_secret_until',
    ])
    .where('d.account_id', '=', accountId)
    .where('d.webhook_id', '=', webhookId)
    .where('d.state', '=', sql.lit('waiting'))
    .orderBy('d.next_try_at')
    .orderBy('d.notice_position')
    .limit(most)
  let rows = await waiting.where('d.next_try_at', '<=', now).execute()
  if (rows.length === 0) rows = await waiting.where('d.next_try_at', '>', now + LONGEST_AHEAD_MS).execute()
  if (rows.length === 0) return []
  const claim = randomUUID()
  await tables
    .updateTable('delivery')
    .set({ claim, next_try_at: now + leaseMs })
    .where('account_id', '=', accountId)
    .where('webhook_id', '=', webhookId)
    .where(
      'notice_position',
      'in',
      rows.map(({ position }) => position),
    )
    .execute()
  await updateWebhook(tables, { accountId, id: webhookId }, { served_at: now }).execute()
  return rows.map((row) => {
    const isOldInUse = row.old_secret !== null && (row.old_secret_until ?? 0) > now
    return {
      accountId,
      webhookId,
      position: row.position,
      claim,
      number: row.tries + 1,
      scheduled: row.tries + 1 - row.tries_before,
      notificationId: row.notice_id,
      url: row.url,
      payload: row.payload,
      isFailing,
      secrets: isOldInUse ? [row.secret, row.old_secret ?? ''] : [row.secret],
    }
  })
}
