import type { AccountId } from '../ids.ts'

/** Recipients that asked to stop. Dispatching checks before each attempt, and again right before the call. */
export interface BlockedRecipients {
  /**
   * Whether the account has blocked this number. At once where what is known is fresh enough, which is nearly always;
   * else as soon as it has been looked up. How old it may be, docs/guarantees.md says (G13). Nothing of an account
   * is loaded while its list is empty. Rejects with `StorageUnavailable`.
   */
  isBlocked(accountId: AccountId, recipient: string): boolean | Promise<boolean>
}
