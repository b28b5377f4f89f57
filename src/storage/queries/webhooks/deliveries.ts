import type { Selectable } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import {
  NOTIFIED_AFTER_MS,
  NOTIFIED_DAYS_AHEAD,
  tokenNotification,
} from '../../../core/notifications/token-notifications.ts'
import type { Deliveries } from '../../../core/ports/deliveries.ts'
import { yieldToWriters } from '../messages/cancel-waiting.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.generated.ts'
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
  let after: Place | null = null
  do {
    const rows = await readEnding(store, now, after)
    const notices = rows.flatMap((row) => {
      const { id, name, prefix } = row
      const token = {
        id,
        name,
        prefix,
        accountId: row.account_id,
        createdAt: row.created_at,
        expiresAt: row.expires_at,
      }
      return tokenNotification(token, now) ?? []
    })
    if (notices.length > 0) {
      await store.database.transaction().execute((tables) => writeNotices({ tables }, notices))
      await yieldToWriters()
    }
    after = rows.length < TOKENS_AT_ONCE ? null : (rows.at(-1) ?? null)
  } while (after !== null)
}

type Place = Pick<Selectable<Tables['token']>, 'id' | 'expires_at'>

function readEnding({ database }: Store, now: Instant, after: Place | null) {
  return database
    .selectFrom('token as t')
    .select(['t.id', 't.account_id', 't.name', 't.prefix', 't.created_at', 't.expires_at'])
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
    .$if(after !== null, (query) =>
      query.where((where) => {
        const { id, expires_at } = after as Place
        return where.or([
          where('t.expires_at', '>', expires_at),
          where.and([where('t.expires_at', '=', expires_at), where('t.id', '>', id)]),
        ])
      }),
    )
    .orderBy('t.expires_at')
    .orderBy('t.id')
    .limit(TOKENS_AT_ONCE)
    .execute()
}
