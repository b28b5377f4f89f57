import type { AccountId } from '../ids.ts'
import type { SecretPlace } from '../ports/secrets.ts'

const PREFIX = 'whsec_'
// Standard Webhooks allows 24 to 64.
const SECRET_BYTES = 32
const ID_BYTES = 6

type RandomBytes = (count: number) => { toString(encoding: 'base64' | 'hex'): string }

export function drawWebhookId(randomBytes: RandomBytes): string {
  return `whk_${randomBytes(ID_BYTES).toString('hex')}`
}

/** A new secret in the form that receivers get. It is shown once. */
export function drawWebhookSecret(randomBytes: RandomBytes): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

/** The place under which the secret is sealed. A replaced secret stays in the same row, so both have the same place. */
export function webhookSecretPlace(accountId: AccountId, webhookId: string): SecretPlace {
  return { purpose: 'webhook', accountId, owner: webhookId, name: 'secret' }
}
