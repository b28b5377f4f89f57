import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CertificateWish, makeCertificate } from '../../test/support/media-world/certificates.ts'
import { MediaWorld, PNG } from '../../test/support/media-world/media-world.ts'
import { answering, randomLoopback, redirecting, type Script } from '../../test/support/media-world/test-host.ts'
import { parseAddressRange } from '../core/media-address/ip-address.ts'

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

/** A host named secure.test with a certificate that we trust, good or not as wished. */
async function secureHost(
  wish: CertificateWish = { names: ['secure.test'] },
  script: Script = answering(200, {}, PNG),
) {
  const certificate = makeCertificate(wish)
  const host = await world.host(script, { certificate })
  world.dns.set('secure.test', { a: [host.address] })
  return { host, url: `https://secure.test:${host.port}/`, trusted: { trustedCertificates: [certificate.cert] } }
}

describe('a fetch over TLS', () => {
  it('takes a certificate of the name in the URL', async () => {
    const { host, url, trusted } = await secureHost()

    expect((await world.fetch(url, trusted)).kind).toBe('fetched')
    expect(host.requests[0]).toContain('host: secure.test')
  })

  it('takes a certificate of an address in the URL', async () => {
    const address = randomLoopback()
    const certificate = makeCertificate({ addresses: [address] })
    const host = await world.host(answering(200, {}, PNG), { address, certificate })

    const fetched = await world.fetch(host.url('/', 'https'), { trustedCertificates: [certificate.cert] })

    expect(fetched.kind).toBe('fetched')
  })

  it.each([
    ['of another name', { names: ['other.test'] }, 'for another name'],
    ['of the address, but not of the name', { addresses: ['127.0.0.1'] }, 'for another name'],
    ['that has run out', { names: ['secure.test'], validUntil: '210101000000Z' }, 'expired'],
    ['that is not valid yet', { names: ['secure.test'], validFrom: '480101000000Z' }, 'not valid yet'],
  ])('refuses a certificate %s', async (_what, wish, words) => {
    const { host, url, trusted } = await secureHost(wish)

    const failed = await world.fetch(url, trusted)

    expect(failed).toMatchObject({ code: 'media_tls', mayPass: true })
    expect((failed as { words: string }).words).toContain(words)
    expect(host.requests).toEqual([])
  })

  it('refuses a certificate without a trusted issuer, whatever the environment says', async () => {
    const { host, url } = await secureHost()
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'

    try {
      expect(await world.fetch(url)).toMatchObject({ code: 'media_tls', words: expect.stringContaining('self-signed') })
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    }
    expect(host.requests).toEqual([])
  })

  it('refuses a host that does not speak TLS, closes, or never finishes the handshake', async () => {
    const plain = await world.host(() => {}, { onConnect: (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n') })
    const closing = await world.host(() => {}, { onConnect: (socket) => socket.end() })
    const silent = await world.host(() => {})

    expect(await world.fetch(plain.url('/', 'https'))).toMatchObject({
      code: 'media_tls',
      words: expect.stringContaining('not speak TLS'),
    })
    expect(await world.fetch(closing.url('/', 'https'))).toMatchObject({
      code: 'media_tls',
      words: expect.stringContaining('broke (ECONNRESET)'),
    })
    expect(await world.fetch(silent.url('/', 'https'), { timing: { connectMs: 200 } })).toMatchObject({
      code: 'media_timeout',
    })
    await expect.poll(() => silent.open).toBe(0)
  })

  it('G9: refuses a redirect from https to http', async () => {
    const plain = await world.host(answering(200, {}, PNG))
    const { url, trusted } = await secureHost(undefined, redirecting(plain.url()))

    expect(await world.fetch(url, trusted)).toMatchObject({ code: 'media_blocked', mayPass: false })
    expect(plain.connects).toBe(0)
  })

  it('follows a redirect from http to https', async () => {
    const { url, trusted } = await secureHost()
    const plain = await world.host(redirecting(url))

    expect((await world.fetch(plain.url(), trusted)).kind).toBe('fetched')
  })

  it('G9: starts no TLS handshake with a peer that is not a checked address', async () => {
    const heard: Buffer[] = []
    const listener = createServer((socket) => socket.on('data', (chunk) => heard.push(chunk)).on('error', () => {}))
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as { port: number }
    const { createDial } = await import('./dial.ts')
    const { createAddressGuard } = await import('./address-guard.ts')
    const openSocket = ((options: object) => connect({ ...options, host: '127.0.0.1', port })) as typeof connect
    const { host, url, trusted } = await secureHost()
    const guard = createAddressGuard({ allowed: [parseAddressRange(host.address)!], refused: [] })
    const dial = createDial({ guard, connectMs: 30_000, trustedCertificates: undefined, openSocket })

    const failed = await world.fetch(url, { ...trusted, replaced: { dial } })
    await new Promise((resolve) => listener.close(resolve))

    expect(failed).toMatchObject({ code: 'media_blocked' })
    expect(heard).toEqual([])
  })
})
