import type { AccountId } from '../../../core/ids.ts'
import type { Reader } from '../store.ts'

/** What concerns the whole installation is shown to, and left to, an account that shares it with no other (G8). */
export async function isOnlyAccount(tables: Reader, accountId: AccountId): Promise<boolean> {
  const other = await tables.selectFrom('account').select('id').where('id', '<>', accountId).limit(1).executeTakeFirst()
  return other === undefined
}
