import { hash } from 'node:crypto'
import type { AccountId } from '../../../core/ids.ts'
import { type ApiLog, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import type { Store } from '../store.ts'

// A screen of them.
const NEWEST = 30

/** A mark that is another one as soon as anything of the newest requests, or of the lanes, is other than before. */
export async function checkAccount(store: Store, apiLog: ApiLog, accountId: AccountId): Promise<string> {
  const lanes = store.database
    .selectFrom('lane')
    .innerJoin('connection', 'connection.id', 'lane.connection_id')
    .where('connection.account_id', '=', accountId)
    .select(({ fn }) => [
      fn.count('lane.wait_reason').as('waits'),
      fn.max('lane.wait_reason').as('reason'),
      fn.max('lane.wait_until').as('until'),
    ])
    .executeTakeFirst()
  const newest = apiLog.readPage(accountId, { filter: NO_FILTER, cursor: null, limit: NEWEST })
  return hash('sha256', JSON.stringify(await Promise.all([lanes, newest])), 'base64url')
}
