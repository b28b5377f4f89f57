import { type SqlBool, sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import {
  NOTIFIED_AFTER_MS,
  NOTIFIED_DAYS_AHEAD,
  tokenNotification,
} from '../../../core/notifications/token-notifications.ts'
import type { Deliveries } from '../../../core/ports/deliveries.ts'
import { yieldToWriters } from '../messages/cancel-waiting.ts'
import { pages } from '../pages.ts'
import type { Store } from '../store.ts'
import { claimDue } from './claim-due.ts'
import { fanOut, MOST_WAITING } from './fan-out.ts'
import { recordTries } from './record-tries.ts'
import { sweepDeliveries } from './sweep-deliveries.ts'
import { writeNotices } from './write-notifications.ts'

const DAY_MS = 86_400_000
/** Few enough that other writers wait only briefly. */
const TOKENS_AT_ONCE = 200

/** `mostWaiting` is smaller in tests. */
export function createDeliveries(store: Store, { mostWaiting = MOST_WAITING } = {}): Deliveries {
  return {
    fanOut: () => fanOut(store, mostWaiting),
    claimDue: (wanted) => claimDue(store, wanted),
    record: (tried) => recordTries(store, tried),
    announceTokens: () => announceTokens(store),
    sweep: (messagesDays) => sweepDeliveries(store, messagesDays),
  }
}

/**
 * See `Deliveries.announceTokens`. It covers the accounts that have a webhook for it, a part at a time, so that an account
 * with many tokens does not delay others (G8).
 */
async function announceTokens(store: Store): Promise<void> {
  const now = store.now()
  for await (const tokens of pages<EndingToken>(
    TOKENS_AT_ONCE,
    (last) => readEnding(store, now, last),
    yieldToWriters,
  )) {
    const notices = tokens.flatMap((token) => tokenNotification(token, now) ?? [])
    if (notices.length > 0) await store.database.transaction().execute((tables) => writeNotices({ tables }, notices))
  }
}

type EndingToken = Parameters<typeof tokenNotification>[0]

function readEnding({ database }: Store, now: Instant, last: EndingToken | null) {
  return database
    .selectFrom('token as t')
    .select(['t.id', 't.name', 't.prefix'])
    .select(['t.account_id as accountId', 't.created_at as createdAt', 't.expires_at as expiresAt'])
    .where('t.deleted_at', 'is', null)
    .where('t.expires_at', '>', now - NOTIFIED_AFTER_MS)
    .where('t.expires_at', '<=', now + Math.max(...NOTIFIED_DAYS_AHEAD) * DAY_MS)
    .where((where) =>
      where.exists(
        where
          .selectFrom('notice_want as w')
          .select('w.kind')
          .whereRef('w.account_id', '=', 't.account_id')
          .where('w.kind', 'in', ['token.expiring', 'token.expired']),
      ),
    )
    .$if(last !== null, (query) =>
      query.where(sql<SqlBool>`(t.expires_at, t.id) > (${last?.expiresAt ?? 0}, ${last?.id ?? ''})`),
    )
    .orderBy('t.expires_at')
    .orderBy('t.id')
    .limit(TOKENS_AT_ONCE)
    .execute()
}
