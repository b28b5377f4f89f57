import type { AccountView, Actor } from '../../../core/ports/administration.ts'
import { Refusal } from '../../../core/refusals.ts'
import { newAccountId } from '../new-id.ts'
import { change, type Store, writeAudit } from '../store.ts'

export function createAccount(store: Store, name: string, actor: Actor): Promise<AccountView> {
  return change(store, actor, async (making) => {
    const same = await making.tables.selectFrom('account').select('id').where('name', '=', name).executeTakeFirst()
    if (same) throw new Refusal('account_exists', `There is an account named “${name}” already.`)
    const account = { id: newAccountId(), name, createdAt: making.at }
    await making.tables.insertInto('account').values({ id: account.id, name, created_at: making.at }).execute()
    await writeAudit(making, { action: 'account.create', object: account.id, accountId: account.id, detail: { name } })
    return account
  })
}

export async function listAccounts(store: Store): Promise<readonly AccountView[]> {
  return store.database
    .selectFrom('account')
    .select(['id', 'name', 'created_at as createdAt'])
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}
