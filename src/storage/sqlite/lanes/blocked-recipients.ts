import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AccountId } from '../../../core/ids.ts'
import type { BlockedRecipients } from '../../../core/ports/blocked-recipients.ts'
import { type HashRecipient, hashedEntry } from '../../../core/ports/recipients.ts'
import type { Directory } from '../accept/directory.ts'

interface BlockList {
  /** Sealed; null if no recipient was erased. */
  readonly hashKey: string | null
}

/**
 * The recipients who asked to stop, always current. It remembers which accounts have an empty list. In any other one entry is
 * looked up by its key, which takes a few microseconds, so the lists need not be in memory.
 */
export class SqliteBlockedRecipients implements BlockedRecipients {
  readonly #directory: Directory
  readonly #hash: HashRecipient
  readonly #list: StatementSync
  readonly #entry: StatementSync
  /** Null: the list is empty. */
  readonly #lists = new Map<AccountId, BlockList | null>()

  constructor(database: DatabaseSync, directory: Directory, hash: HashRecipient) {
    this.#directory = directory
    this.#hash = hash
    this.#list = database.prepare('select hash_key from block_list where account_id = ? and entries > 0')
    this.#entry = database.prepare('select 1 from blocked_recipient where account_id = ? and recipient = ?')
  }

  /** Another process has written to the database. */
  forget(): void {
    this.#lists.clear()
  }

  isBlocked(accountId: AccountId, recipient: string): boolean {
    // Only other connections write lists, and this notices their commits.
    this.#directory.refreshOncePerTurn()
    const list = this.#listOf(accountId)
    if (!list) return false
    if (this.#entry.get(accountId, recipient)) return true
    if (list.hashKey === null) return false
    return this.#entry.get(accountId, hashedEntry(this.#hash(accountId, list.hashKey, recipient))) !== undefined
  }

  #listOf(accountId: AccountId): BlockList | null {
    let list = this.#lists.get(accountId)
    if (list === undefined) {
      const row = this.#list.get(accountId)
      list = row ? { hashKey: row['hash_key'] as string | null } : null
      this.#lists.set(accountId, list)
    }
    return list
  }
}
