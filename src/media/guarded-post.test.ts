import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NOT_PUBLIC } from '../../test/support/media-world/hostile-urls.ts'
import { MediaWorld } from '../../test/support/media-world/media-world.ts'
import { answering, drip, endless, redirecting, type TestHost } from '../../test/support/media-world/test-host.ts'
import { parseAddressRange } from '../core/media-address/ip-address.ts'
import { createGuardedPost, type PostTiming } from './create-guarded-post.ts'
import { createDial } from './dial.ts'
import type { FollowRules } from './follow-url.ts'

let world: MediaWorld
let canary: TestHost
beforeEach(async () => {
  world = await MediaWorld.open()
  canary = await world.canary()
})
afterEach(() => world.close())

const LONG_TIMES = { dnsMs: 30_000, connectMs: 30_000, totalMs: 30_000, excerptMs: 300 }

interface How {
  readonly timing?: Partial<PostTiming>
  readonly replaced?: Partial<FollowRules>
}

function post(url: string, hosts: readonly TestHost[], { timing, replaced }: How = {}) {
  const guarded = createGuardedPost(
    {
      allowed: hosts.map(({ address }) => parseAddressRange(address)!),
      dnsServers: [world.dns.address],
      timing: { ...LONG_TIMES, ...timing },
    },
    replaced,
  )
  const wanted = { url, headers: { 'webhook-id': 'ntc_1' }, body: '{"type":"webhook.test"}' }
  return guarded.post(wanted, new AbortController().signal)
}

describe('posting to an address that an account gave', () => {
  it('sends the body and the headers, and returns the status and the beginning of the response', async () => {
    let request = ''
    const host = await world.host((socket, asked) => {
      request = asked
      answering(201, { 'retry-after': '7' }, Buffer.from(`fine\u0000 ${'x'.repeat(5_000)}`))(socket, asked)
    })

    const end = await post(host.url(), [host])

    expect(end).toMatchObject({ kind: 'answered', status: 201, retryAfterMs: 7_000 })
    expect((end as { excerpt: string }).excerpt).toMatch(/^fine {2}x+$/)
    expect((end as { excerpt: string }).excerpt.length).toBeLessThanOrEqual(1_024)
    expect(request).toMatch(/^POST /)
    expect(request).toContain('webhook-id: ntc_1')
  })

  it('accepts a response after unrequested interim responses', async () => {
    const host = await world.host((socket, asked) => {
      socket.write('HTTP/1.1 100 Continue\r\n\r\n')
      answering(204, {}, '')(socket, asked)
    })

    expect(await post(host.url(), [host])).toMatchObject({ kind: 'answered', status: 204 })
  })

  it('G9: does not post to addresses that the operator closed', async () => {
    const refused = [parseAddressRange(canary.address)!]
    const guarded = createGuardedPost({ allowed: refused, refused, dnsServers: [world.dns.address] })
    world.dns.set('closed.test', { a: [canary.address] })

    for (const url of [canary.url(), `http://closed.test:${canary.port}/`]) {
      const end = await guarded.post({ url, headers: {}, body: '{}' }, new AbortController().signal)
      expect(end).toMatchObject({ kind: 'failed', code: 'blocked' })
    }
    expect(canary.connects).toBe(0)
  })

  it.each(NOT_PUBLIC)('G9: does not post to %s', async (url) => {
    const end = await post(url, [])

    expect(end).toMatchObject({ kind: 'failed' })
    expect(['blocked', 'name_unknown']).toContain((end as { code: string }).code)
    expect(canary.connects).toBe(0)
  })

  it('G9: does not post to a name that resolves into our network', async () => {
    world.dns.set('evil.nuncio-test.com', { a: ['127.0.0.1'] })

    const end = await post(`http://evil.nuncio-test.com:8080/`, [])

    expect(end).toMatchObject({
      code: 'blocked',
      words: 'The URL leads to an address that webhooks are not posted to.',
    })
    expect(canary.connects).toBe(0)
  })

  it('control: without the guard it posts there', async () => {
    const guard = { admits: () => true, allows: () => true }
    const dial = createDial({ guard, connectMs: 30_000, trustedCertificates: undefined })
    world.dns.set('evil.nuncio-test.com', { a: ['127.0.0.1'] })
    const ranges = { allowed: [parseAddressRange('127.0.0.1')!], refused: [] }

    const end = await post(`http://evil.nuncio-test.com:${canary.port}/`, [], {
      replaced: { guard, dial, ranges },
    })

    // The port alone would be refused without a look-up, so this test gets past that check.
    expect(end).toMatchObject(canary.port === 8080 ? { kind: 'answered' } : { kind: 'failed', code: 'blocked' })
    const literal = await post(canary.url(), [], { replaced: { guard, dial, ranges } })
    expect(literal).toMatchObject({ kind: 'answered', status: 200 })
    expect(canary.connects).toBeGreaterThan(0)
  })

  it('G9: follows no redirect', async () => {
    const host = await world.host(redirecting(canary.url()))

    expect(await post(host.url(), [host])).toMatchObject({ kind: 'answered', status: 302 })
    expect(canary.connects).toBe(0)
  })

  it('times out when no response comes', async () => {
    const host = await world.host(() => {})

    expect(await post(host.url(), [host], { timing: { totalMs: 200 } })).toMatchObject({
      kind: 'failed',
      code: 'timeout',
    })
    await expect.poll(() => host.open).toBe(0)
  })

  it('times out when headers drip', async () => {
    const host = await world.host(drip('HTTP/1.1 200 OK\r\n', { piece: Buffer.from('x: y\r\n'), everyMs: 20 }))

    expect(await post(host.url(), [host], { timing: { totalMs: 300 } })).toMatchObject({
      kind: 'failed',
      code: 'timeout',
    })
    await expect.poll(() => host.open).toBe(0)
  })

  it('returns the status and the beginning of a body that drips or never ends', async () => {
    const head = 'HTTP/1.1 200 OK\r\n\r\n'
    const dripping = await world.host(drip(head, { piece: Buffer.from('x'), everyMs: 20 }))
    const sent = { bytes: 0 }
    const flooding = await world.host(endless(head, Buffer.alloc(65_536, 'x'), sent))

    expect(await post(dripping.url(), [dripping])).toMatchObject({ kind: 'answered', status: 200 })
    expect(await post(flooding.url(), [flooding])).toMatchObject({ kind: 'answered', status: 200 })
    await expect.poll(() => dripping.open + flooding.open).toBe(0)
    expect(sent.bytes).toBeLessThan(20_000_000)
  })

  it('reports the error, and never the address of a name', async () => {
    const host = await world.host((socket) => socket.destroy())

    const end = await post(host.url(), [host])

    expect(end).toMatchObject({ kind: 'failed', code: 'unreachable' })
    expect(JSON.stringify(end)).not.toContain(host.address)
    expect(JSON.stringify(end)).not.toContain('media')
  })

  it('is aborted by its caller', async () => {
    const host = await world.host(() => {})
    const guarded = createGuardedPost({ allowed: [parseAddressRange(host.address)!] })
    const caller = new AbortController()
    const sent = guarded.post({ url: host.url(), headers: {}, body: '' }, caller.signal)
    await expect.poll(() => host.connects).toBe(1)

    caller.abort(new Error('stopped'))

    await expect(sent).rejects.toThrow('stopped')
  })
})
