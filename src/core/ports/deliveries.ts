import type { AccountId, Instant } from '../ids.ts'
import type { CheckedTry } from '../notifications/decide-after-try.ts'
import type { Room } from '../notifications/fair-scheduling.ts'

/** A delivery that this process may try now, and no other until its lease ends. */
export interface ClaimedDelivery {
  readonly accountId: AccountId
  readonly webhookId: string
  readonly position: number
  /** Identifies this claim: a result of an older claim is ignored. */
  readonly claim: string
  /** Which try this is, from 1. */
  readonly number: number
  /** Which try of its schedule. A replay by a person starts the schedule again. */
  readonly scheduled: number
  readonly notificationId: string
  readonly url: string
  readonly payload: string
  /** Its webhook failed the last time that it was tried. */
  readonly isFailing: boolean
  /** Sealed: the current one first, then the old one while it still signs. */
  readonly secrets: readonly string[]
}

export interface TriedDelivery
  extends Pick<ClaimedDelivery, 'accountId' | 'webhookId' | 'position' | 'claim' | 'number'> {
  readonly at: Instant
  readonly tookMs: number
  readonly checked: CheckedTry
}

/** A webhook that was disabled by itself. `gone`: its receiver answered 410. */
export interface DisabledWebhook {
  readonly accountId: AccountId
  readonly webhookId: string
  readonly code: 'failing_for_days' | 'gone'
}

/**
 * The work on deliveries, by any number of processes at once. Every method is one short transaction. It rejects with the
 * engine's error when the database is away, and may then be called again. On SQLite it lives in the console's thread.
 */
export interface Deliveries {
  /**
   * Makes deliveries of the oldest new notifications, one for each enabled webhook that wants them, and gives up the
   * oldest where too many wait. All deliveries of a notification are made in one commit, so a crash repeats nothing.
   * `damaged`: the ids of those that cannot be read. They are not delivered and do not delay others.
   */
  fanOut(): Promise<{ readonly notifications: number; readonly dropped: number; readonly damaged: readonly string[] }>
  /** Claims due deliveries, fairly between accounts. Claims expire, so a crash only delays a try. */
  claimDue(wanted: Room & { readonly leaseMs: number }): Promise<readonly ClaimedDelivery[]>
  /**
   * Writes the results of tries. Those whose claim was taken over are ignored. Disables webhooks of which every try has failed
   * for days, and those that answered 410, and announces that in the same commit.
   */
  record(tried: readonly TriedDelivery[]): Promise<readonly DisabledWebhook[]>
  /** Announces tokens that expire soon or have expired, each once. */
  announceTokens(): Promise<void>
  /**
   * Deletes some deliveries that are too old, or whose webhook was removed. False when nothing is left.
   * `messagesDays`: how long the installation keeps messages, because notifications about a message are kept no longer; 0 is forever.
   */
  sweep(messagesDays: number): Promise<boolean>
}

/** A cheap check, so that an installation without webhooks has no cost. */
export interface DeliveryWatch {
  /** `isListened`: there is a webhook, or something is left of one. `isDue`: there is something to fan out or to try. */
  pollDeliveries(): Promise<{ readonly isListened: boolean; readonly isDue: boolean }>
}
