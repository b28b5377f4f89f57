import type { AccountId, Instant } from '../ids.ts'
import type { NotificationKind } from '../notifications/notification-kinds.ts'

/** A notification for an account. */
export interface NewNotification {
  readonly accountId: AccountId
  readonly kind: NotificationKind
  /** When it happened. */
  readonly at: Instant
  /** Names what happened: the same key of an account is announced once, as long as notices are kept. */
  readonly key: string
  /** As in the example of its kind. No message text, no secrets: it leaves the house. */
  readonly data: Readonly<Record<string, unknown>>
}

/**
 * Notifies accounts. For rare notifications: those of messages are written by storage itself, in the commit that changes their
 * state.
 */
export interface Notifications {
  /**
   * Stores those notifications that a webhook of their account wants, all of them or none; the others are dropped.
   * Once it has resolved they survive a crash. What was announced under the same key is left as it was. Two that announce
   * the same at once announce it once. Rejects with `StorageUnavailable`, and may then be asked again.
   */
  announce(notifications: readonly NewNotification[]): Promise<void>
}
