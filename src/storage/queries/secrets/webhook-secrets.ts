import type { AccountId } from '../../../core/ids.ts'
import type { SecretRow } from '../../../core/ports/secrets.ts'
import type { Reader } from '../store.ts'

export async function listOfWebhooks(
  tables: Reader,
  after: string | null,
  limit: number,
): Promise<readonly SecretRow[]> {
  const rows = await tables
    .selectFrom('webhook')
    .select(['id', 'account_id', 'secret', 'old_secret'])
    .where('id', '>', after ?? '')
    .where('state', '<>', 'removed')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id: owner, account_id: accountId, secret, old_secret }) => {
    const texts = { secret, ...(old_secret !== null && { old_secret }) }
    return { kind: 'webhook', accountId, owner, texts, version: JSON.stringify(texts) }
  })
}

export async function replaceOfWebhook(
  tables: Reader,
  { accountId, owner, version }: SecretRow,
  texts: Readonly<Record<string, string>>,
): Promise<boolean> {
  const before = JSON.parse(version) as { readonly secret: string; readonly old_secret?: string }
  const { numUpdatedRows } = await tables
    .updateTable('webhook')
    .set({ ...texts })
    .where('account_id', '=', accountId as AccountId)
    .where('id', '=', owner)
    .where('secret', '=', before.secret)
    .where('old_secret', before.old_secret === undefined ? 'is' : '=', before.old_secret ?? null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
