import { type SqlBool, sql } from 'kysely'
import type { OfConnection } from '../../../core/ports/console/lanes.ts'
import type { Reader } from '../store.ts'
import { connectionUnknown } from './read-lanes.ts'

/** A connection of the account that was not removed. Refuses with `connection_unknown`. */
export async function livingConnection(tables: Reader, { accountId, id }: OfConnection) {
  const connection = await tables
    .selectFrom('connection')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where(sql<SqlBool>`state <> 'removed'`)
    .executeTakeFirst()
  if (!connection) throw connectionUnknown()
  return connection
}
