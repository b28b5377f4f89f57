import { createHmac, randomBytes } from 'node:crypto'
import type { AccountId } from '../../core/ids.ts'
import { type BlockLists, type HashRecipient, hashedEntry, type RecipientEntries } from '../../core/ports/recipients.ts'
import type { SecretPlace, Secrets } from '../../core/ports/secrets.ts'

/** As long as the hash itself: a longer key adds nothing, a shorter one could be guessed sooner. */
const KEY_BYTES = 32

/**
 * Makes hashes of numbers that were erased. With a key, because there are so few numbers that a thief of the database
 * alone could try them all; the key lies sealed, and the key ring lies elsewhere.
 */
export function createRecipientHash(secrets: () => Secrets): HashRecipient {
  const keys = new Map<string, Buffer>()
  return (accountId, sealedKey, recipient) => {
    let key = keys.get(sealedKey)
    if (!key) {
      key = Buffer.from(secrets().open(sealedKey, placeOf(accountId)), 'base64url')
      keys.set(sealedKey, key)
    }
    return createHmac('sha256', key).update(recipient).digest('base64url')
  }
}

/** A new key for the list of an account, sealed. */
function drawHashKey(secrets: Secrets, accountId: AccountId): string {
  return secrets.seal(randomBytes(KEY_BYTES).toString('base64url'), placeOf(accountId))
}

function placeOf(accountId: AccountId): SecretPlace {
  return { purpose: 'block-list', accountId, owner: accountId, name: 'hash_key' }
}

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
