import type { AccountId } from '../../../core/ids.ts'
import type { Change } from '../store.ts'

/** Stores the kinds that the enabled webhooks of an account want. Every change of a message's state reads them. */
export async function noteWants({ tables }: Pick<Change, 'tables'>, accountId: AccountId): Promise<void> {
  const rows = await tables
    .selectFrom('webhook')
    .select('kinds')
    .where('account_id', '=', accountId)
    .where('state', '=', 'enabled')
    .execute()
  const kinds = [...new Set(rows.flatMap((row) => JSON.parse(row.kinds) as string[]))]
  await tables.deleteFrom('notice_want').where('account_id', '=', accountId).execute()
  if (kinds.length > 0)
    await tables
      .insertInto('notice_want')
      .values(kinds.map((kind) => ({ account_id: accountId, kind })))
      .execute()
}
