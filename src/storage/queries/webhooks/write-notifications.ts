import { randomUUID } from 'node:crypto'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { NotificationKind } from '../../../core/notifications/notification-kinds.ts'
import type { NewNotification } from '../../../core/ports/notifications.ts'
import type { Change } from '../store.ts'

// Longer than any wait between two tries. A later try was planned before the clock was set back.
export const LONGEST_AHEAD_MS = 86_400_000

export function newNoticeId(): string {
  return `ntc_${randomUUID().replaceAll('-', '')}`
}

/** As `Notifications.announce`, inside a change: a rolled back change is not announced. */
export async function writeNotices(
  { tables }: Pick<Change, 'tables'>,
  notices: readonly NewNotification[],
): Promise<void> {
  for (const { accountId, kind, at, key, data } of notices) {
    const wanted = await tables
      .selectFrom('notice_want')
      .select('kind')
      .where('account_id', '=', accountId)
      .where('kind', '=', kind)
      .executeTakeFirst()
    if (!wanted) continue
    await tables
      .insertInto('notice')
      .values({
        id: newNoticeId(),
        account_id: accountId,
        kind,
        at,
        key,
        data: noticeText(data),
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

interface ConnectionNews {
  readonly kind: Extract<NotificationKind, `connection.${string}`>
  readonly accountId: AccountId
  readonly id: ConnectionId
  readonly number: string
  readonly channel: string
  /** Names of what was changed, never values: those may be credentials. */
  readonly changed?: readonly string[]
}

/** Inside the change that it is about. Its key is new each time, so no second one replaces it. */
export async function announceConnection(
  making: Pick<Change, 'tables' | 'at' | 'actor'>,
  { kind, accountId, id, number, channel, changed }: ConnectionNews,
): Promise<void> {
  const data = { connectionId: id, number, channel, ...(changed && { changed }), by: making.actor }
  await writeNotices(making, [{ accountId, kind, at: making.at, key: `${kind}:${id}:${randomUUID()}`, data }])
}

/** Stores the kinds that the enabled webhooks of an account want. Every change of a message's state reads them. */
export async function noteWants({ tables }: Pick<Change, 'tables'>, accountId: AccountId): Promise<void> {
  const rows = await tables
    .selectFrom('webhook')
    .select('kinds')
    .where('account_id', '=', accountId)
    .where('state', '=', 'enabled')
    .execute()
  const kinds = [...new Set(rows.flatMap((row) => JSON.parse(row.kinds) as string[]))]
  await tables.deleteFrom('notice_want').where('account_id', '=', accountId).execute()
  if (kinds.length > 0)
    await tables
      .insertInto('notice_want')
      .values(kinds.map((kind) => ({ account_id: accountId, kind })))
      .execute()
}

/**
 * The stored form of a notification's data. PostgreSQL accepts no U+0000 in JSON, and receivers need none. It is removed
 * from each value and not from the text, where the same characters may belong to an escaped backslash.
 */
export function noticeText(data: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(data, (_, value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '') : value))
}

/** For `DeliveryWatch`: a few index lookups, and two where there never was a webhook. `now` is the engine's expression. */
export const POLL_DELIVERIES = (now: string): string => `
  select case when exists (select 1 from webhook) or exists (select 1 from notice) then 1 else 0 end as listened,
    case when exists (select 1 from notice where is_new = 1) or exists (
      select 1 from webhook w where w.state = 'enabled' and (exists (
        select 1 from delivery d where d.account_id = w.account_id and d.webhook_id = w.id
          and d.state = 'waiting' and d.next_try_at <= ${now})
      or exists (
        select 1 from delivery d where d.account_id = w.account_id and d.webhook_id = w.id
          and d.state = 'waiting' and d.next_try_at > ${now} + ${LONGEST_AHEAD_MS}))) then 1 else 0 end as due`
