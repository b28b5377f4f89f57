import type { AccountId, Instant } from '../ids.ts'
import type { Actor } from './administration.ts'

/** The form of an entry whose person was erased: not the number, but a keyed hash of it. */
const HASH_MARK = 'h:'

/** The entry of a block list. */
export interface Block {
  /** The number; null where its person was erased and only a keyed hash of it is kept. */
  readonly recipient: string | null
  /** As the person who blocked it wrote it. */
  readonly reason: string | null
  readonly since: Instant
  readonly blockedBy: string
  /** Names the entry: the number, or `h:` and its hash. */
  readonly entry: string
}

interface BlockPage {
  readonly items: readonly Block[]
  readonly next: string | null
}

/**
 * Recipients that asked to stop, by account. A number is found by itself and, after an erasure, by its hash: so a method takes
 * all `entries` that one number may have.
 */
export interface BlockLists {
  /** At most 1,000 at once, in one transaction. Those that are blocked already stay as they are. */
  block(
    accountId: AccountId,
    wanted: { readonly numbers: readonly string[]; readonly reason: string | null },
    actor: Actor,
  ): Promise<{ readonly blocked: number; readonly already: number }>
  /** Refuses with `recipient_not_blocked`. */
  unblock(accountId: AccountId, entries: readonly string[], actor: Actor): Promise<Block>
  /** Null when none of these is in the list. */
  findBlock(accountId: AccountId, entries: readonly string[]): Promise<Block | null>
  /** By number. `find`: only those that begin with these digits. */
  listBlocks(
    accountId: AccountId,
    wanted: { readonly find: string | null; readonly after: string | null; readonly limit: number },
  ): Promise<BlockPage>
  countBlocks(accountId: AccountId): Promise<number>
  /** Sealed; null until a recipient of the account is erased. */
  readHashKey(accountId: AccountId): Promise<string | null>
  /** Returns the key that is stored. If two are added at once, that is the first. */
  addHashKey(accountId: AccountId, sealed: string): Promise<string>
}

/** Makes the hash of a number, with a key that lies sealed in the list of its account. */
export type HashRecipient = (accountId: AccountId, sealedKey: string, recipient: string) => string

/** The entry of an erased recipient in a block list. */
export function hashedEntry(hash: string): string {
  return `${HASH_MARK}${hash}`
}

export function isHashedEntry(entry: string): boolean {
  return entry.startsWith(HASH_MARK)
}

/** A number as the audit log may show it: enough to recognise one's own action, but not the number. */
export function hintOf(recipient: string): string {
  return `recipient …${recipient.slice(-2)}`
}

/** For accounts without erased recipients. */
export const noHash: HashRecipient = () => {
  throw new Error('There are hashes of erased recipients, and nothing to make them with')
}

/** How the entries of a number are found, where its hash may be among them. */
export interface RecipientEntries {
  /** The number itself and, if a recipient of the account was erased, its hash. */
  entriesOf(accountId: AccountId, number: string): Promise<readonly string[]>
  /** The hash, with a key that is made if the account has none yet. */
  hashedEntryOf(accountId: AccountId, number: string): Promise<string>
}
