import { describe, expect, it } from 'vitest'
import { parseAddressRange } from '../media-address/ip-address.ts'
import { readWebhookUrl } from './read-webhook-form.ts'

const NONE = { allowed: [], refused: [] }

describe('the address of a webhook', () => {
  it('names the setting that allows a receiver on the own machine', () => {
    for (const host of ['127.0.0.1:9000', 'localhost:9000'])
      expect(() => readWebhookUrl(`http://${host}/hook`, NONE)).toThrow(
        ' While you develop, the operator can set NUNCIO_WEBHOOK_ALLOWED_PRIVATE=127.0.0.0/8 in the environment or in .env, then restart the service. Commands need it too.',
      )
  })

  it.each([
    ['192.168.1.20', '192.168.0.0/16 in'],
    ['172.20.0.3', '172.16.0.0/12 in'],
    ['[fd12:3::4]', 'fc00::/7 in'],
    ['app:3000', '10.0.0.0/8 (or the network of that name) in'],
  ])('names the network of %s', (host, network) => {
    expect(() => readWebhookUrl(`http://${host}/hook`, NONE)).toThrow(`NUNCIO_WEBHOOK_ALLOWED_PRIVATE=${network}`)
  })

  it('does not say how to open the metadata service of a cloud', () => {
    expect(() => readWebhookUrl('http://169.254.169.254/', NONE)).toThrow(/^(?!.*NUNCIO_WEBHOOK)/)
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
