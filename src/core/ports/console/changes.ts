import type { AccountId } from '../../ids.ts'

/**
 * Whether there is anything new to show. Each method returns an opaque mark: two equal marks mean that nothing has changed in
 * between.
 */
export interface Changes {
  /** Of the whole database: every commit changes it. Cheap, and not blocked by writers. */
  poll(): Promise<string>
  /** Of the newest requests and messages and the lanes of one account, but not of all its data. */
  pollAccount(accountId: AccountId): Promise<string>
}
