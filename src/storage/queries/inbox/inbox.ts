import { sql } from 'kysely'
import type { InboxViews, OwnConnection } from '../../../core/ports/console/inbox.ts'
import type { Store } from '../store.ts'
import { explainDelivery, findMedia } from './explain-delivery.ts'
import { listChats } from './list-chats.ts'
import { readConversation } from './read-conversation.ts'

export function createInboxViews(store: Store): InboxViews {
  return {
    async listSandboxes(accountId) {
      const rows = await store.database
        .selectFrom('connection')
        .select(['id', 'number', 'state'])
        .where('account_id', '=', accountId)
        .where('channel', '=', 'sandbox')
        .orderBy(sql`case when state = 'removed' then 1 else 0 end`)
        .orderBy('number')
        .orderBy('created_at')
        .execute()
      return rows.map((row) => ({ ...row }))
    },
    async listChats(of, page) {
      const connection = await findConnection(store, of)
      return connection && listChats(store, connection.id, page)
    },
    async readConversation(of, to, page) {
      const connection = await findConnection(store, of)
      return connection && readConversation(store, { connectionId: connection.id, to }, page)
    },
    async explainDelivery(of, key) {
      const connection = await findConnection(store, of)
      return connection && explainDelivery(store, connection, key)
    },
    async findMedia(of, messageId) {
      const connection = await findConnection(store, of)
      return connection && findMedia(store, connection.id, messageId)
    },
  }
}

/** Null where it is another account's, another channel's, or none. */
async function findConnection({ database }: Store, { accountId, connectionId }: OwnConnection) {
  const row = await database
    .selectFrom('connection')
    .select(['id', 'number'])
    .where('id', '=', connectionId)
    .where('account_id', '=', accountId)
    .where('channel', '=', 'sandbox')
    .executeTakeFirst()
  return row ?? null
}
