import { describe, expect, it } from 'vitest'
import { parseAddressRange } from '../media-address/ip-address.ts'
import { readWebhookUrl } from './read-webhook-form.ts'

const NONE = { allowed: [], refused: [] }

describe('the address of a webhook', () => {
  it('names the setting that allows a receiver on the own machine', () => {
    expect(() => readWebhookUrl('http://127.0.0.1:9000/hook', NONE)).toThrow(/NUNCIO_WEBHOOK_ALLOWED_PRIVATE/)
  })

  it('says of what the operator has closed what closes it, and not what would not open it', () => {
    const ranges = { allowed: [], refused: [parseAddressRange('198.18.5.0/24')].filter((range) => range !== null) }
    const read = () => readWebhookUrl('https://198.18.5.9/hook', ranges)

    expect(read).toThrow(/NUNCIO_OUTBOUND_DENIED_CIDRS/)
    expect(read).toThrow(/^(?!.*NUNCIO_WEBHOOK_ALLOWED_PRIVATE)/)
  })

  it('names no setting where none would help', () => {
    expect(() => readWebhookUrl('ftp://shop.example.com/', NONE)).toThrow(/^(?!.*NUNCIO_WEBHOOK)/)
  })
})
