import { type Selectable, sql, type UpdateObject } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import { givenUpAt } from '../../../core/notifications/decide-after-try.ts'
import { isNotificationKind } from '../../../core/notifications/notification-kinds.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../../core/notifications/webhook.ts'
import { FAILING_TRIES, type OfWebhook, type WebhookView } from '../../../core/ports/webhooks.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { Reader } from '../store.ts'
import type { Tables } from '../tables.generated.ts'

const DAY_MS = 86_400_000
// Counted to here, and “at least” beyond: a webhook may get a hundred thousand notifications a day.
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

export function updateWebhook(tables: Reader, { accountId, id }: OfWebhook, columns: UpdateObject<Tables, 'webhook'>) {
  return tables.updateTable('webhook').set(columns).where('account_id', '=', accountId).where('id', '=', id)
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
  const isFailing = row.failed_tries >= FAILING_TRIES
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
    isFailing,
    lastFailure: isFailing ? await readLastFailure(tables, row) : null,
    retrying: await readRetrying(tables, row, now),
    lastDeliveredAt: row.last_delivered_at,
    oldSecretUntil: row.old_secret_until !== null && row.old_secret_until > now ? row.old_secret_until : null,
    dropped: row.dropped,
    lastDay: await countLastDay(tables, row, now),
  }
}

/** The oldest that wait: what was never tried comes after them. */
function selectOldest(tables: Reader, row: WebhookRow) {
  return tables.selectFrom((query) =>
    query
      .selectFrom('delivery')
      // Read from the index of waiting deliveries only, because a webhook may have millions that ended.
      .select('notice_position')
      .where('account_id', '=', row.account_id)
      .where('webhook_id', '=', row.id)
      .where('state', '=', sql.lit('waiting'))
      .orderBy('notice_position')
      .limit(MOST_COUNTED)
      .as('oldest'),
  )
}

async function readLastFailure(tables: Reader, row: WebhookRow): Promise<WebhookView['lastFailure']> {
  const last = await selectOldest(tables, row)
    .innerJoin('delivery_try as t', 't.notice_position', 'oldest.notice_position')
    .select(['t.code', 't.status'])
    .where('t.account_id', '=', row.account_id)
    .where('t.webhook_id', '=', row.id)
    .where('t.code', '<>', 'delivered')
    .orderBy('t.at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last ? { code: last.code, status: last.status } : null
}

async function readRetrying(tables: Reader, row: WebhookRow, now: Instant): Promise<WebhookView['retrying']> {
  const groups = await selectOldest(tables, row)
    .innerJoin('delivery as d', 'd.notice_position', 'oldest.notice_position')
    .select([
      // Tries of the present schedule, which a replay starts again.
      sql<number>`tries - tries_before`.as('tried'),
      sql<number>`count(*)`.as('count'),
      // What is being tried now is due until its result is known.
      sql<Instant>`min(case when claim is null then next_try_at else 0 end)`.as('first'),
      sql<Instant>`max(next_try_at)`.as('last'),
    ])
    .where('d.account_id', '=', row.account_id)
    .where('d.webhook_id', '=', row.id)
    .groupBy('tried')
    .execute()
  const again = groups.filter(({ tried }) => tried > 0)
  if (again.length === 0) return null
  const nextTryAt = Math.min(...again.map(({ first }) => first))
  return {
    count: sum(again),
    isAtLeast: sum(groups) === MOST_COUNTED,
    nextTryAt: nextTryAt > now ? nextTryAt : null,
    givenUpAt: Math.max(...again.map(({ tried, last }) => givenUpAt({ tries: tried, nextTryAt: Math.max(last, now) }))),
  }
}

function sum(groups: readonly { readonly count: number }[]): number {
  return groups.reduce((total, { count }) => total + Number(count), 0)
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
  const isAtLeast = sum(rows) >= MOST_COUNTED
  return { ...counts, isAtLeast }
}
