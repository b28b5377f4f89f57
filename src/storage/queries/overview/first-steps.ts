import type { AccountId } from '../../../core/ids.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import type { FirstSteps } from '../../../core/ports/console/overview.ts'
import { change, type Reader, type Store } from '../store.ts'
import { ALL_CONNECTIONS } from './hour-tally.ts'
import type { Recent } from './recent.ts'

/** The first steps that a new account has done; null once a person has seen one of its messages in the log. */
export async function readFirstSteps(
  store: Store,
  accountId: AccountId,
  recent: Recent | null,
): Promise<FirstSteps | null> {
  const { database } = store
  if (await hasSeenMessage(database, accountId)) return null
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
  const message = recent === null || recent.messages.length > 0 || (await hasCounted(store, accountId))
  return { connection: connection !== undefined, token: token !== undefined, message }
}

/** A person has seen a message of the account in the log. Only the first time is written. */
export async function noteMessageSeen(store: Store, accountId: AccountId, actor: Actor): Promise<void> {
  if (await hasSeenMessage(store.database, accountId)) return
  await change(store, actor, async ({ tables, at }) => {
    await tables.updateTable('account').set({ message_seen_at: at }).where('id', '=', accountId).execute()
  })
}

async function hasSeenMessage(tables: Reader, accountId: AccountId): Promise<boolean> {
  const account = await tables
    .selectFrom('account')
    .select('message_seen_at')
    .where('id', '=', accountId)
    .executeTakeFirst()
  return (account?.message_seen_at ?? null) !== null
}

async function hasCounted({ database }: Store, accountId: AccountId): Promise<boolean> {
  const counted = await database
    .selectFrom('tally')
    .select('hour')
    .where('account_id', '=', accountId)
    .where('connection_id', '=', ALL_CONNECTIONS)
    .where('state', '<>', 'refused')
    .limit(1)
    .executeTakeFirst()
  return counted !== undefined
}
