import type { AccountId, Instant } from '../ids.ts'
import type { CheckedTry } from '../notifications/check-delivery-try.ts'
import type { Room } from '../notifications/fair-scheduling.ts'

/** A delivery that this process may try now, and no other until its lease ends. */
export interface ClaimedDelivery {
  readonly accountId: AccountId
  readonly webhookId: string
  readonly position: number
  /** Of this claim alone: whoever comes late with another writes nothing. */
  readonly claim: string
  /** Which try this is, from 1. */
  readonly number: number
  /** Which of its schedule: that begins anew when a person replays it. */
  readonly scheduled: number
  readonly notificationId: string
  readonly url: string
  readonly payload: string
  /** Its webhook failed the last time that it was tried. */
  readonly isFailing: boolean
  /** Sealed: the one that counts first, then the one before it while that still signs. */
  readonly secrets: readonly string[]
}

export interface TriedDelivery
  extends Pick<ClaimedDelivery, 'accountId' | 'webhookId' | 'position' | 'claim' | 'number'> {
  readonly at: Instant
  readonly tookMs: number
  readonly checked: CheckedTry
}

export interface DisabledWebhook {
  readonly accountId: AccountId
  readonly webhookId: string
  readonly code: 'failing_for_days' | 'gone'
}

/**
 * The work on deliveries, by any number of processes at once. Every verb is one short transaction, rejects as the engine
 * does when the database is away, and may then be asked again. On SQLite it lives in the console's thread.
 */
export interface Deliveries {
  /**
   * Makes deliveries of the oldest notices that are new, one for each enabled webhook that wants them, and gives up the
   * oldest where too many wait. All of a notice's deliveries are made in one commit, so a crash repeats nothing.
   * `damaged`: the ids of those that cannot be read. Nobody is told of them, and they keep no others waiting.
   */
  fanOut(): Promise<{ readonly notifications: number; readonly dropped: number; readonly damaged: readonly string[] }>
  /** Takes what is due, fairly between accounts. Claims end by themselves, so that a crash only delays a try. */
  claimDue(wanted: Room & { readonly leaseMs: number }): Promise<readonly ClaimedDelivery[]>
  /**
   * Writes what tries came to. One whose claim has been taken over is left out. Disables webhooks whose every try has
   * failed for days, and those that asked for it, and announces that in the same commit.
   */
  record(tried: readonly TriedDelivery[]): Promise<readonly DisabledWebhook[]>
  /** Announces tokens that expire soon or have expired, each once. */
  announceTokens(): Promise<void>
  /**
   * Forgets some of what is older than it is kept, and of webhooks that were removed. False when nothing is left.
   * `messagesDays`: how long the installation keeps messages, because what notices tell of one is kept no longer; 0 is for ever.
   */
  sweep(messagesDays: number): Promise<boolean>
}

/** What costs next to nothing to ask, so that whoever has no webhook pays nothing for them. */
export interface DeliveryWatch {
  /** `isListened`: there is a webhook, or something is left of one. `isDue`: there is something to spread or to try. */
  pollDeliveries(): Promise<{ readonly isListened: boolean; readonly isDue: boolean }>
}
