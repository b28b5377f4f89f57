import type { AccountId } from '../../ids.ts'

/**
 * Whether there is anything new to show. Each method returns an opaque mark: two equal marks mean that nothing has changed in
 * between.
 */
export interface Changes {
  /** A value that every commit to the database changes. Cheap, and not blocked by writers. */
  poll(): Promise<string>
  /** A value that changes with the newest requests and messages and the lanes of one account, not with all of its data. */
  pollAccount(accountId: AccountId): Promise<string>
}
