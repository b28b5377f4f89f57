import type { AccountId } from '../../ids.ts'

/**
 * Whether there is anything new to show. A mark is a text that nobody need understand: two that are equal say that
 * nothing has changed in between.
 */
export interface Changes {
  /** Of the whole database: whatever anybody commits makes it another one. Cheap, and waits for nobody who writes. */
  poll(): Promise<string>
  /** Of what people look at most in one account: its newest requests and messages, and its lanes. Not of all there is. */
  pollAccount(accountId: AccountId): Promise<string>
}
