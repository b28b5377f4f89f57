import { Webhook } from 'standardwebhooks'
import type { Instant } from '../core/ids.ts'

interface ToSign {
  readonly notificationId: string
  readonly payload: string
  readonly at: Instant
  /** `whsec_…`, the current one first. */
  readonly secrets: readonly string[]
}

/** The headers by which a receiver authenticates us. While a secret is being replaced, both sign. */
export function signNotification({ notificationId, payload, at, secrets }: ToSign): Readonly<Record<string, string>> {
  const sentAt = new Date(at)
  return {
    'content-type': 'application/json',
    'webhook-id': notificationId,
    'webhook-timestamp': String(Math.floor(at / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(notificationId, sentAt, payload)).join(' '),
  }
}
