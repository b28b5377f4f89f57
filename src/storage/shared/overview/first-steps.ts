import { sql } from 'kysely'
import type { AccountId } from '../../../core/ids.ts'
import type { FirstSteps } from '../../../core/ports/console/overview.ts'
import { readingOf, type Store } from '../store.ts'
import { ALL_CONNECTIONS } from './hour-tally.ts'

// A new account's first message is among the newest of all, until it has been counted.
const NEWEST_LOOKED_AT = 1_000

/** How far a new account has come; null once it has sent a message: then it is new no more. */
export async function readFirstSteps(store: Store, accountId: AccountId): Promise<FirstSteps | null> {
  const { database } = store
  if (await hasMessage(store, accountId)) return null
  const connection = await database
    .selectFrom('connection')
    .select('id')
    .where('account_id', '=', accountId)
    .where('state', '<>', 'removed')
    .limit(1)
    .executeTakeFirst()
  const token = await database
    .selectFrom('token')
    .select('id')
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('expires_at', '>', store.now())
    .limit(1)
    .executeTakeFirst()
  return { connection: connection !== undefined, token: token !== undefined, message: false }
}

async function hasMessage(store: Store, accountId: AccountId): Promise<boolean> {
  const { tables, engine } = readingOf(store)
  const counted = await tables
    .selectFrom('tally')
    .select('hour')
    .where('account_id', '=', accountId)
    .where('connection_id', '=', ALL_CONNECTIONS)
    .where('state', '<>', 'refused')
    .limit(1)
    .executeTakeFirst()
  if (counted) return true
  for (const span of (await engine.spans(tables)).slice(0, 2)) {
    const newest = tables
      .selectFrom('message')
      .select('account_id')
      .where('sequence', '>=', span.from)
      .where('sequence', '<', span.before)
      .orderBy('sequence', 'desc')
      .limit(NEWEST_LOOKED_AT)
    const own = await tables
      .selectFrom(newest.as('newest'))
      .select(sql<number>`1`.as('one'))
      .where('account_id', '=', accountId)
      .limit(1)
      .executeTakeFirst()
    if (own) return true
  }
  return false
}
