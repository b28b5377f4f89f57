import { describe, expect, it } from 'vitest'
import { readWebhookUrl } from './read-webhook-form.ts'

const NONE = { allowed: [], refused: [] }

describe('the address of a webhook', () => {
  it('tells whoever names a receiver of their own machine which setting opens it', () => {
    expect(() => readWebhookUrl('http://127.0.0.1:9000/hook', NONE)).toThrow(/NUNCIO_WEBHOOK_ALLOWED_PRIVATE/)
  })

  it('names no setting where none would help', () => {
    expect(() => readWebhookUrl('ftp://shop.example.com/', NONE)).toThrow(/^(?!.*NUNCIO_WEBHOOK)/)
  })
})
