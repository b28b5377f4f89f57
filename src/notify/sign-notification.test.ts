import assert from 'node:assert/strict'
import { Webhook } from 'standardwebhooks'
import { describe, it } from 'vitest'
import { drawWebhookSecret } from '../core/notifications/draw-webhook.ts'
import { signNotification } from './sign-notification.ts'

const secret = (fill: number) => drawWebhookSecret((count) => Buffer.alloc(count, fill))
const payload = '{"type":"message.failed","data":{"to":"ü"}}'

describe('the signature of a notice', () => {
  it('is what Standard Webhooks verifies, with either secret while one is being replaced', () => {
    const headers = signNotification({
      notificationId: 'ntc_1',
      payload,
      at: Date.now(),
      secrets: [secret(1), secret(2)],
    })

    for (const fill of [1, 2])
      assert.deepEqual(new Webhook(secret(fill)).verify(payload, { ...headers }), JSON.parse(payload))
    assert.throws(() => new Webhook(secret(3)).verify(payload, { ...headers }))
    assert.throws(() => new Webhook(secret(1)).verify(payload.replace('ü', 'u'), { ...headers }))
  })

  it('carries the id and the second at which it was made', () => {
    const headers = signNotification({ notificationId: 'ntc_1', payload, at: 1_700_000_000_999, secrets: [secret(1)] })

    assert.deepEqual([headers['webhook-id'], headers['webhook-timestamp']], ['ntc_1', '1700000000'])
    assert.match(headers['webhook-signature'] ?? '', /^v1,[A-Za-z0-9+/]{43}=$/)
    assert.match(secret(1), /^whsec_[A-Za-z0-9+/]{43}=$/)
  })
})
