import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MediaWorld, PNG } from '../../test/support/media-world/media-world.ts'
import { answering, redirecting, type TestHost } from '../../test/support/media-world/test-host.ts'
import { parseAddressRange } from '../core/media-address/ip-address.ts'

let world: MediaWorld
let fine: TestHost
let canary: TestHost
beforeEach(async () => {
  world = await MediaWorld.open()
  fine = await world.host(answering(200, {}, PNG))
  canary = await world.canary()
})
afterEach(() => world.close())

describe('addresses that the operator closed', () => {
  const closed = {
    allowed: [parseAddressRange('127.0.0.0/8')!],
    refused: ['127.0.0.1/32', '8.8.0.0/16', '2606:4700::/32'].map((text) => parseAddressRange(text)!),
  }

  it.each([
    ['in the URL', () => `http://127.0.0.1:${canary.port}/`],
    ['in another spelling', () => `http://2130706433:${canary.port}/`],
    ['as localhost', () => `http://localhost:${canary.port}/`],
    ['of a name', () => `http://closed.test:${canary.port}/`],
    ['beside an open one', () => `http://both.test:${canary.port}/`],
    ['though it is public', () => 'http://8.8.8.8/'],
    ['of a public name', () => 'http://public.example.com/'],
    ['of a public name, by IPv6', () => 'http://six.example.com/'],
    ['behind a redirect', (redirects: TestHost) => redirects.url()],
  ])('G9: are not reached: one %s', async (_where, url) => {
    world.dns.set('closed.test', { a: ['127.0.0.1'] })
    world.dns.set('both.test', { a: [fine.address, '127.0.0.1'] })
    world.dns.set('public.example.com', { a: ['8.8.4.4'] })
    world.dns.set('six.example.com', { aaaa: ['2606:4700::1'] })
    const redirects = await world.host(redirecting(`http://127.0.0.1:${canary.port}/`))

    expect(await world.fetch(url(redirects), closed)).toMatchObject({ code: 'media_blocked', mayPass: false })
    expect(canary.connects).toBe(0)
  })

  it('leave others open', async () => {
    expect((await world.fetch(fine.url(), closed)).kind).toBe('fetched')
  })
})
