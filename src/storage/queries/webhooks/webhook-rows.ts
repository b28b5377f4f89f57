import { type Selectable, sql } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import { isNotificationKind } from '../../../core/notifications/notification-kinds.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../../core/notifications/webhook.ts'
import type { OfWebhook, WebhookView } from '../../../core/ports/webhooks.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { Reader } from '../store.ts'
import type { Tables } from '../tables.generated.ts'

const DAY_MS = 86_400_000
// Counted to here, and “at least” beyond: a webhook may get a hundred thousand notices a day.
const MOST_COUNTED = 2_000

type WebhookRow = Selectable<Tables['webhook']>

export async function findWebhook(tables: Reader, { accountId, id }: OfWebhook): Promise<WebhookRow> {
  const row = await tables
    .selectFrom('webhook')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('state', '<>', 'removed')
    .executeTakeFirst()
  if (!row) throw new Refusal('webhook_unknown')
  return row
}

export async function listWebhookRows(tables: Reader, accountId: AccountId): Promise<readonly WebhookRow[]> {
  return tables
    .selectFrom('webhook')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('state', '<>', 'removed')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

export async function toWebhookView(tables: Reader, row: WebhookRow, now: Instant): Promise<WebhookView> {
  return {
    accountId: row.account_id,
    id: row.id,
    url: row.url,
    description: row.description,
    kinds: (JSON.parse(row.kinds) as string[]).filter(isNotificationKind),
    state: row.state === 'removed' ? 'disabled' : row.state,
    stateReason: row.state_reason,
    createdAt: row.created_at,
    createdBy: row.created_by,
    failingSince: row.failing_since,
    lastDeliveredAt: row.last_delivered_at,
    oldSecretUntil: row.old_secret_until !== null && row.old_secret_until > now ? row.old_secret_until : null,
    dropped: row.dropped,
    lastDay: await countLastDay(tables, row, now),
  }
}

/** The newest ones by position, so that a long list costs no more than a short one. */
async function countLastDay(tables: Reader, row: WebhookRow, now: Instant): Promise<WebhookView['lastDay']> {
  const rows = await tables
    .selectFrom((query) =>
      query
        .selectFrom('delivery')
        .select(['state', 'created_at'])
        .where('account_id', '=', row.account_id)
        .where('webhook_id', '=', row.id)
        .orderBy('notice_position', 'desc')
        .limit(MOST_COUNTED)
        .as('newest'),
    )
    .select(['state', sql<number>`count(*)`.as('count')])
    .where('created_at', '>', now - DAY_MS)
    .groupBy('state')
    .execute()
  const counts = Object.fromEntries(DELIVERY_STATES.map((state) => [state, 0])) as Record<DeliveryState, number>
  for (const { state, count } of rows) counts[state] = Number(count)
  const isAtLeast = rows.reduce((sum, { count }) => sum + Number(count), 0) >= MOST_COUNTED
  return { ...counts, isAtLeast }
}
