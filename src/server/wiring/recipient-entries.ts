import type { AccountId } from '../../core/ids.ts'
import { type BlockLists, hashedEntry, type RecipientEntries } from '../../core/ports/recipients.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { createRecipientHash, drawHashKey } from './recipient-hash.ts'

interface RecipientEntriesParts {
  readonly lists: Pick<BlockLists, 'readHashKey' | 'addHashKey'>
  /** Called only where a person was erased, or is to be. */
  readonly openSecrets: () => Promise<Secrets>
}

export function createRecipientEntries({ lists, openSecrets }: RecipientEntriesParts): RecipientEntries {
  const hashed = async (accountId: AccountId, sealedKey: string, number: string) => {
    const secrets = await openSecrets()
    return hashedEntry(createRecipientHash(() => secrets)(accountId, sealedKey, number))
  }
  return {
    async entriesOf(accountId, number) {
      const key = await lists.readHashKey(accountId)
      return key === null ? [number] : [number, await hashed(accountId, key, number)]
    },
    async hashedEntryOf(accountId, number) {
      const found = await lists.readHashKey(accountId)
      const key = found ?? (await lists.addHashKey(accountId, drawHashKey(await openSecrets(), accountId)))
      return hashed(accountId, key, number)
    },
  }
}
