import type { AccountId, Instant } from '../ids.ts'
import type { NotificationKind } from '../notifications/notification-kinds.ts'

/** A notification for an account. */
export interface NewNotification {
  readonly accountId: AccountId
  readonly kind: NotificationKind
  /** When it happened. */
  readonly at: Instant
  /** Identifies what happened. An account is notified once for each key, as long as notifications are kept. */
  readonly key: string
  /** As in the example of its kind. It leaves the installation, so it has no message texts and no secrets. */
  readonly data: Readonly<Record<string, unknown>>
}

/**
 * Notifies accounts. For rare notifications: those of messages are written by storage itself, in the commit that changes their
 * state.
 */
export interface Notifications {
  /**
   * Stores those notifications that a webhook of their account wants, all of them or none; the others are dropped. Durable when
   * it resolves. A notification whose key was announced before is dropped, also when two processes announce it at once. Rejects
   * with `StorageUnavailable`, and may then be called again.
   */
  announce(notifications: readonly NewNotification[]): Promise<void>
}
