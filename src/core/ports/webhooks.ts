import type { AccountId, Instant } from '../ids.ts'
import type { NotificationKind } from '../notifications/notification-kinds.ts'
import type { DeliveryState, WebhookState } from '../notifications/webhook.ts'
import type { Actor } from './administration.ts'

export interface OfWebhook {
  readonly accountId: AccountId
  readonly id: string
}

interface NewWebhook extends OfWebhook {
  readonly url: string
  readonly description: string
  readonly kinds: readonly NotificationKind[]
  /** Sealed. */
  readonly secret: string
}

/** How many tries must fail in a row before a webhook is said to fail. */
export const FAILING_TRIES = 5

interface Retrying {
  readonly count: number
  /** More are tried again than were counted. */
  readonly isAtLeast: boolean
  /** Null: one of them is due, or is being tried. */
  readonly nextTryAt: Instant | null
  /** About when the last of them is given up. */
  readonly givenUpAt: Instant
}

/** Why a try failed. */
interface Failure {
  readonly code: string
  /** The HTTP status of the answer; null: there was none. */
  readonly status: number | null
}

export interface WebhookView extends OfWebhook {
  readonly url: string
  readonly description: string
  readonly kinds: readonly NotificationKind[]
  readonly state: WebhookState
  /** Why it was disabled by itself, in a sentence. */
  readonly stateReason: string | null
  readonly createdAt: Instant
  readonly createdBy: string
  /** Since when every try has failed; null when the last one did not. */
  readonly failingSince: Instant | null
  /** At least `FAILING_TRIES` tries failed since then: fewer may be of one delivery alone. */
  readonly isFailing: boolean
  /** While it is failing, of the last try of what is tried again. Null: nothing is. */
  readonly lastFailure: Failure | null
  /** Deliveries that failed and are tried again; null: there is none. */
  readonly retrying: Retrying | null
  readonly lastDeliveredAt: Instant | null
  /** Until when the secret before this one signs too; null when none does. */
  readonly oldSecretUntil: Instant | null
  /** How many deliveries were given up because too many waited. */
  readonly dropped: number
  /** Deliveries of the last day by state. Counted up to a bound: `isAtLeast`. */
  readonly lastDay: Readonly<Record<DeliveryState, number>> & { readonly isAtLeast: boolean }
}

export interface DeliveryRow {
  /** The position of its notification. Together with the webhook it identifies the delivery. */
  readonly position: number
  /** What the receiver knows it by: `webhook-id`. */
  readonly notificationId: string
  readonly kind: NotificationKind
  /** The message that it is about. */
  readonly message: { readonly id: string; readonly to: string } | null
  readonly state: DeliveryState
  readonly tries: number
  readonly createdAt: Instant
  /** Null when it is not waiting. */
  readonly nextTryAt: Instant | null
  readonly endedAt: Instant | null
  readonly lastStatus: number | null
  readonly lastCode: string | null
}

interface TryRow {
  readonly number: number
  readonly at: Instant
  readonly tookMs: number
  readonly status: number | null
  readonly code: string
  readonly words: string | null
  readonly excerpt: string | null
}

export interface DeliveryView extends DeliveryRow {
  readonly payload: string
  readonly tryRows: readonly TryRow[]
}

interface DeliveryFilter {
  readonly state: DeliveryState | null
  readonly kind: NotificationKind | null
  /** From the row before; null begins with the newest. */
  readonly after: string | null
}

/**
 * The webhooks of an account, as people see and change them. Each change is in the audit log. A webhook of another account
 * is refused with `webhook_unknown`. On SQLite this runs in a thread of its own, so it takes and returns plain values.
 */
export interface Webhooks {
  listWebhooks(accountId: AccountId): Promise<readonly WebhookView[]>
  readWebhook(of: OfWebhook): Promise<WebhookView>
  /** Refuses with `webhooks_too_many` when the account has as many as it may have. */
  addWebhook(wanted: NewWebhook, actor: Actor): Promise<WebhookView>
  /** What is left out stays as it is. */
  changeWebhook(
    of: OfWebhook,
    changed: Partial<Pick<NewWebhook, 'url' | 'description' | 'kinds'>>,
    actor: Actor,
  ): Promise<WebhookView>
  /** When it is enabled again, waiting deliveries are tried again. While it is disabled, no new ones are made. */
  setWebhookState(of: OfWebhook, state: 'enabled' | 'disabled', actor: Actor): Promise<WebhookView>
  /**
   * The old secret signs as well until the given time. If an even older one still signs, it ends at once with `endsEarlier`;
   * otherwise this refuses with `webhook_secrets_overlap`, also when another person rotates at the same time.
   */
  rotateWebhookSecret(
    of: OfWebhook,
    rotation: { readonly secret: string; readonly oldUntil: Instant; readonly endsEarlier: boolean },
    actor: Actor,
  ): Promise<WebhookView>
  /** Its deliveries are forgotten a little later. */
  removeWebhook(of: OfWebhook, actor: Actor): Promise<void>
  /** Queues a notification `webhook.test` for this webhook alone. Returns its delivery's position. */
  testWebhook(of: OfWebhook, actor: Actor): Promise<number>

  listDeliveries(of: OfWebhook, filter: DeliveryFilter): Promise<{ items: readonly DeliveryRow[]; next: string | null }>
  readDelivery(of: OfWebhook, position: number): Promise<DeliveryView>
  /** Tries it again as if it were new, with the same `webhook-id` and payload. */
  replayDelivery(of: OfWebhook, position: number, actor: Actor): Promise<DeliveryView>
  /** The same for all that failed or were dropped since then. Returns how many. */
  replayFailed(of: OfWebhook, since: Instant, actor: Actor): Promise<number>
}
