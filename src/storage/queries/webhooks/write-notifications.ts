import { randomUUID } from 'node:crypto'
import type { NewNotification } from '../../../core/ports/notifications.ts'
import type { Change } from '../store.ts'
import { noticeText } from './notification-text.ts'

export function newNoticeId(): string {
  return `ntc_${randomUUID().replaceAll('-', '')}`
}

/** As `Notices.announce`, inside a change: a rolled back change is not announced. */
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
        message_sequence: null,
        data: noticeText(data),
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}
