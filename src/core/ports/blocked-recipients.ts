import type { AccountId } from '../ids.ts'

/** Recipients that asked to stop. Dispatching checks before each attempt, and again right before the call. */
export interface BlockedRecipients {
  /**
   * Whether the account has blocked this number. Answers at once if the cached list is fresh enough, which is nearly always;
   * otherwise once it has been read. docs/guarantees.md says how old it may be (G13). Nothing is loaded for an account whose
   * list is empty. Rejects with `StorageUnavailable`.
   */
  isBlocked(accountId: AccountId, recipient: string): boolean | Promise<boolean>
}
