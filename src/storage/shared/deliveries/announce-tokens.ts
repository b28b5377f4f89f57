import { TOLD_AFTER_MS, TOLD_DAYS_AHEAD, tokenNotice } from '../../../core/notices/token-notices.ts'
import type { Store } from '../store.ts'
import { writeNotices } from '../webhooks/write-notices.ts'

const DAY_MS = 86_400_000
const MOST_TOKENS = 1_000

/** See `Deliveries.announceTokens`. Only of accounts where somebody wants to hear it. */
export async function announceTokens(store: Store): Promise<void> {
  const now = store.now()
  const rows = await store.database
    .selectFrom('token as t')
    .select(['t.id', 't.account_id', 't.name', 't.prefix', 't.created_at', 't.expires_at'])
    .where('t.deleted_at', 'is', null)
    .where('t.expires_at', '>', now - TOLD_AFTER_MS)
    .where('t.expires_at', '<=', now + Math.max(...TOLD_DAYS_AHEAD) * DAY_MS)
    .where((where) =>
      where.exists(
        where
          .selectFrom('notice_want as w')
          .select('w.kind')
          .whereRef('w.account_id', '=', 't.account_id')
          .where('w.kind', 'in', ['token.expiring', 'token.expired']),
      ),
    )
    .orderBy('t.expires_at')
    .limit(MOST_TOKENS)
    .execute()
  const notices = rows.flatMap((row) => {
    const { id, name, prefix } = row
    const token = { id, name, prefix, accountId: row.account_id, createdAt: row.created_at, expiresAt: row.expires_at }
    return tokenNotice(token, now) ?? []
  })
  if (notices.length === 0) return
  await store.database.transaction().execute((tables) => writeNotices({ tables }, notices))
}
