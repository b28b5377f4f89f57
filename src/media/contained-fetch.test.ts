import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NOT_PUBLIC } from '../../test/support/media-world/hostile-urls.ts'
import { MediaWorld, PNG } from '../../test/support/media-world/media-world.ts'
import { answering, redirecting, type TestHost } from '../../test/support/media-world/test-host.ts'
import { parseAddressRange } from '../core/media-address/ip-address.ts'
import type { AddressGuard } from './address-guard.ts'
import { createDial, type Dial } from './dial.ts'

const hasIpv6 = Object.values(networkInterfaces()).some((entries) => entries?.some(({ address }) => address === '::1'))

let world: MediaWorld
let fine: TestHost
let canary: TestHost
let canary6: TestHost
beforeEach(async () => {
  world = await MediaWorld.open()
  fine = await world.host(answering(200, {}, PNG))
  canary = await world.canary()
  canary6 = hasIpv6 ? await world.canary('::1', canary.port) : canary
})
afterEach(() => world.close())

const OPEN_GUARD: AddressGuard = { admits: () => true, allows: () => true }
const openDial = createDial({ guard: OPEN_GUARD, connectMs: 30_000, trustedCertificates: undefined })

function expectNothingReached(): void {
  expect(canary.connects + canary6.connects).toBe(0)
}

describe('addresses in the URL', () => {
  it.each(NOT_PUBLIC)('G9: does not fetch %s, though ranges are open', async (url) => {
    const failed = await world.fetch(url)

    expect(['media_blocked', 'media_dns']).toContain((failed as { code?: string }).code)
    expectNothingReached()
  })

  it.each([
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '127.1',
    '①②⑦.⓪.⓪.①',
    '[::1]',
    '[::]',
    '0.0.0.0',
    '[::ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    'localhost',
    'x.localhost',
  ])('G9: does not reach a listener of ours through http://%s', async (host) => {
    const failed = await world.fetch(`http://${host}:${canary.port}/`)

    expect(failed).toMatchObject({ kind: 'failed', code: 'media_blocked', mayPass: false })
    expectNothingReached()
  })

  it('reaches this machine under the name localhost only where the operator opened it', async () => {
    const allowedPrivate = [parseAddressRange('127.0.0.1/32')!]

    const fetched = await world.fetch(`http://localhost:${canary.port}/`, { allowed: allowedPrivate })

    expect(fetched.kind).toBe('fetched')
    expect(canary.connects).toBe(1)
    if (hasIpv6) expect(canary6.connects).toBe(0)
    expect(world.dns.questions).toEqual([])
  })
})

describe('addresses of a name', () => {
  it('fetches from a name, and asks for the name only once', async () => {
    world.dns.set('files.test', { a: [fine.address] })

    const fetched = await world.fetch(`http://files.test:${fine.port}/a`)

    expect(fetched.kind).toBe('fetched')
    expect(fine.requests[0]).toContain(`host: files.test:${fine.port}\r\n`)
    expect([...world.dns.questions].sort()).toEqual(['A files.test', 'AAAA files.test'])
  })

  it.each([
    ['one private address', { a: ['127.0.0.1'] }],
    ['one private IPv6 address', { aaaa: ['::1'] }],
    ['a mapped address', { aaaa: ['::ffff:127.0.0.1'] }],
    ['a NAT64 address', { aaaa: ['64:ff9b::7f00:1'] }],
    ['the unspecified address', { a: ['0.0.0.0'] }],
    ['the metadata service', { a: ['169.254.169.254'] }],
    ['an alias of a private name', { aliases: ['a.test', 'b.test', 'localhost'], a: ['127.0.0.1'] }],
  ])('G9: refuses a name with %s', async (_what, answer) => {
    world.dns.set('evil.test', answer)

    expect(await world.fetch(`http://evil.test:${canary.port}/`)).toMatchObject({
      code: 'media_blocked',
      mayPass: false,
    })
    expectNothingReached()
  })

  it.each([
    ['last', (good: string) => ({ a: [good, good, '127.0.0.1'] })],
    ['first', (good: string) => ({ a: ['127.0.0.1', good] })],
    ['of the other family', (good: string) => ({ a: [good], aaaa: ['::1'] })],
    ['behind an alias', (good: string) => ({ aliases: ['x.test'], a: [good, '10.0.0.1'] })],
  ])('G9: refuses a name when one of its addresses is bad: %s', async (_where, answer) => {
    world.dns.set('mixed.test', answer(fine.address))

    expect(await world.fetch(`http://mixed.test:${fine.port}/`)).toMatchObject({ code: 'media_blocked' })
    expect(fine.connects).toBe(0)
    expectNothingReached()
  })

  it('G9: refuses a public name with one bad address before any connection', async () => {
    world.dns.set('files.example.com', { a: ['8.8.8.8', '10.0.0.1'] })
    const dialled: string[] = []
    const dial: Dial = async (target) => {
      dialled.push(target.host)
      throw new Error('must not be called')
    }

    expect(await world.fetch('http://files.example.com/a', { replaced: { dial } })).toMatchObject({
      code: 'media_blocked',
    })
    expect(dialled).toEqual([])
  })

  it('G9: refuses a public address behind a port or name that is allowed for private ones only', async () => {
    world.dns.set('seems-private.test', { a: ['8.8.8.8'] })
    world.dns.set('both.test', { a: [fine.address, '8.8.8.8'] })

    expect(await world.fetch('http://seems-private.test:22/')).toMatchObject({ code: 'media_blocked' })
    expect(await world.fetch(`http://both.test:${fine.port}/`)).toMatchObject({ code: 'media_blocked' })
  })

  it('G9: connects to the checked address when the name resolves to another one later', async () => {
    world.dns.set('rebind.test', (question) => ({ a: [question === 1 ? fine.address : '127.0.0.1'] }))

    const fetched = await world.fetch(`http://rebind.test:${fine.port}/`)

    expect(fetched.kind).toBe('fetched')
    expect(fine.connects).toBe(1)
    expectNothingReached()
  })

  it('control: a second look-up at the connection lets a rebinding name in', async () => {
    world.dns.set('rebind.test', (question) => ({ a: [question === 1 ? fine.address : '127.0.0.1'] }))
    const { createNameResolver } = await import('./resolve-name.ts')
    const lookUp = createNameResolver({ servers: [world.dns.address], timeoutMs: 30_000 })
    const dial: Dial = async (target, _checked, signal) => openDial(target, await lookUp(target.host, signal), signal)

    const fetched = await world.fetch(`http://rebind.test:${canary.port}/`, { replaced: { dial } })

    expect(fetched.kind).toBe('fetched')
    expect(canary.connects).toBe(1)
  })

  it('G9: asks no hosts file and no search list', async () => {
    const inHostsFile = readFileSync('/etc/hosts', 'utf8')
      .split('\n')
      .flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/).slice(1))
      .filter((name) => /^[a-z0-9-]+$/.test(name) && name !== 'localhost')
    const names = [...new Set(['intranet', ...inHostsFile])]
    world.dns.set('intranet.search.test', { a: [fine.address] })
    process.env['LOCALDOMAIN'] = 'search.test'

    try {
      for (const name of names) {
        expect(await world.fetch(`http://${name}:${fine.port}/`)).toMatchObject({ code: 'media_dns', mayPass: true })
      }
    } finally {
      delete process.env['LOCALDOMAIN']
    }

    const asked = new Set(world.dns.questions.map((question) => question.split(' ')[1]))
    expect(asked).toEqual(new Set(names))
    expect(fine.connects).toBe(0)
  })

  it.runIf(hasIpv6)('fetches over IPv6 (needs ::1; else skipped)', async () => {
    world.dns.set('six.test', { aaaa: ['::1'] })
    const allowedPrivate = [parseAddressRange('::1')!]

    expect((await world.fetch(`http://[::1]:${canary6.port}/`, { allowed: allowedPrivate })).kind).toBe('fetched')
    expect((await world.fetch(`http://six.test:${canary6.port}/`, { allowed: allowedPrivate })).kind).toBe('fetched')
    expect(canary6.requests[0]).toContain(`host: [::1]:${canary6.port}\r\n`)
  })

  it('tries the next checked address when one accepts no connection', async () => {
    const closed = await world.host(() => {})
    await closed.close()
    world.dns.set('two.test', { a: [closed.address, fine.address] })
    const allowedPrivate = [closed.address, fine.address].map((address) => parseAddressRange(address)!)

    expect((await world.fetch(`http://two.test:${fine.port}/`, { allowed: allowedPrivate })).kind).toBe('fetched')
  })
})

describe('redirects', () => {
  it.each([
    ['to a private address', () => `http://127.0.0.1:${canary.port}/`],
    ['to a private address in disguise', () => `http://2130706433:${canary.port}/`],
    ['to a private IPv6 address', () => `http://[::1]:${canary.port}/`],
    ['to a mapped address', () => `http://[::ffff:127.0.0.1]:${canary.port}/`],
    ['to localhost', () => `http://localhost:${canary.port}/`],
    ['to a private address without a scheme', () => `//127.0.0.1:${canary.port}/`],
    ['with a user name', () => `http://u:p@${fine.address}:${fine.port}/`],
    ['with a backslash', () => `http://${fine.address}:${fine.port}\\@127.0.0.1/`],
    ['to a file', () => 'file:///etc/passwd'],
    ['to another scheme', () => 'gopher://127.0.0.1/'],
    ['to data', () => 'data:image/png;base64,iVBORw0KGgo='],
    ['to another port', () => 'http://8.8.8.8:22/'],
    ['to another port of a public name', () => 'https://example.com:6379/'],
  ])('G9: refuses a redirect %s', async (_where, location) => {
    const host = await world.host(redirecting(location()))

    const failed = await world.fetch(host.url())

    expect(failed).toMatchObject({ code: 'media_blocked', mayPass: false })
    expect(fine.connects).toBe(0)
    expectNothingReached()
  })

  it.each([301, 302, 303, 307, 308])('follows a redirect with status %d, relative ones too', async (status) => {
    const host = await world.host((socket, request) =>
      request.startsWith('GET /from/a ')
        ? redirecting('../to?x=é b', status)(socket, request)
        : answering(200, {}, PNG)(socket, request),
    )

    const fetched = await world.fetch(host.url('/from/a'))

    expect(fetched.kind).toBe('fetched')
    expect(host.requests[1]).toContain('GET /to?x=%C3%A9%20b HTTP/1.1')
  })

  it('G9: also checks a rebinding name at the redirect', async () => {
    world.dns.set('rebind.test', (question) => ({ a: [question === 1 ? host.address : '127.0.0.1'] }))
    const host: TestHost = await world.host((socket, request) =>
      redirecting(`http://rebind.test:${host.port}/again`)(socket, request),
    )

    expect(await world.fetch(`http://rebind.test:${host.port}/`)).toMatchObject({ code: 'media_blocked' })
    expect(host.connects).toBe(1)
    expectNothingReached()
  })

  it('G9: checks every hop, the last one too', async () => {
    const third = await world.host(redirecting(`http://127.0.0.1:${canary.port}/`))
    const second = await world.host(redirecting(third.url()))
    const first = await world.host(redirecting(second.url()))

    expect(await world.fetch(first.url())).toMatchObject({ code: 'media_blocked' })
    expect(third.connects).toBe(1)
    expectNothingReached()
  })

  it('follows five redirects and not six', async () => {
    const host: TestHost = await world.host((socket, request) => {
      const left = Number(/GET \/(\d+)/.exec(request)?.[1])
      const script = left === 0 ? answering(200, {}, PNG) : redirecting(`/${left - 1}`)
      script(socket, request)
    })

    expect((await world.fetch(host.url('/5'))).kind).toBe('fetched')
    expect(await world.fetch(host.url('/6'))).toMatchObject({ code: 'media_protocol', mayPass: false })
    expect(host.requests.length).toBe(12)
  })

  it('ends a redirect loop', async () => {
    const host: TestHost = await world.host((socket, request) => redirecting(host.url())(socket, request))

    expect(await world.fetch(host.url())).toMatchObject({ code: 'media_protocol' })
    expect(host.connects).toBe(6)
  })

  it('says plainly when a redirect names no place or an impossible one', async () => {
    const nowhere = await world.host(answering(302, {}, ''))
    const broken = await world.host(redirecting('http://[::1'))

    expect(await world.fetch(nowhere.url())).toMatchObject({ code: 'media_protocol' })
    expect(await world.fetch(broken.url())).toMatchObject({ code: 'media_protocol' })
  })
})

describe('each guard by itself', () => {
  it('G9: works when only the addresses of the look-up are checked', async () => {
    world.dns.set('evil.test', { a: ['127.0.0.1'] })

    expect(await world.fetch(`http://evil.test:${canary.port}/`, { replaced: { dial: openDial } })).toMatchObject({
      code: 'media_blocked',
    })
    expectNothingReached()
  })

  it('G9: works when only the connection is checked', async () => {
    world.dns.set('evil.test', { a: ['127.0.0.1'] })

    expect(await world.fetch(`http://evil.test:${canary.port}/`, { replaced: { guard: OPEN_GUARD } })).toMatchObject({
      code: 'media_blocked',
    })
    expectNothingReached()
  })

  it('G9: works for an address in the URL when only the connection is checked', async () => {
    const allowedPrivate = [parseAddressRange('127.0.0.1/32')!]
    const replaced = { guard: OPEN_GUARD, ranges: { allowed: allowedPrivate, refused: [] } }

    expect(await world.fetch(`http://127.0.0.1:${canary.port}/`, { replaced })).toMatchObject({ code: 'media_blocked' })
    expectNothingReached()
  })

  it('G9: sends nothing to a peer that is not a checked address', async () => {
    const openSocket = ((options: object) =>
      connect({ ...options, host: '127.0.0.1', port: canary.port })) as typeof connect
    const dial = createDial({ guard: OPEN_GUARD, connectMs: 30_000, trustedCertificates: undefined, openSocket })

    expect(await world.fetch(fine.url(), { replaced: { dial } })).toMatchObject({ code: 'media_blocked' })
    expect(canary.requests).toEqual([])
  })

  it('control: without both guards a name does reach the canary', async () => {
    world.dns.set('evil.test', { a: ['127.0.0.1'] })

    const fetched = await world.fetch(`http://evil.test:${canary.port}/`, {
      replaced: { guard: OPEN_GUARD, dial: openDial },
    })

    expect(fetched.kind).toBe('fetched')
    expect(canary.connects).toBe(1)
  })

  it('control: without the guards an address does reach the canary', async () => {
    const allowedPrivate = [parseAddressRange('127.0.0.1/32')!]
    const replaced = { guard: OPEN_GUARD, dial: openDial, ranges: { allowed: allowedPrivate, refused: [] } }

    expect((await world.fetch(`http://127.0.0.1:${canary.port}/`, { replaced })).kind).toBe('fetched')
    expect(canary.connects).toBe(1)
  })
})

describe('isolation from other fetches and from the environment', () => {
  it('G9: uses no proxy of the environment', async () => {
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'all_proxy']
    for (const name of names) process.env[name] = canary.url('')

    try {
      expect((await world.fetch(fine.url())).kind).toBe('fetched')
    } finally {
      for (const name of names) delete process.env[name]
    }
    expectNothingReached()
  })

  it('G8: keeps nothing between fetches: each has its own connection and no cookies', async () => {
    const host = await world.host((socket) =>
      socket.write(
        `HTTP/1.1 200 X\r\ncontent-length: ${PNG.length}\r\nset-cookie: tenant=1\r\ncache-control: max-age=9999\r\n\r\n${PNG.toString('latin1')}`,
        'latin1',
      ),
    )

    const fetched = [await world.fetch(host.url()), await world.fetch(host.url())]

    expect(fetched.map(({ kind }) => kind)).toEqual(['fetched', 'fetched'])
    expect(host.connects).toBe(2)
    expect(host.requests.join()).not.toMatch(/cookie/i)
    await expect.poll(() => host.open).toBe(0)
  })

  it('G9: never names an address that a name resolved to', async () => {
    const closed = await world.host(() => {})
    await closed.close()
    world.dns.set('private.test', { a: ['10.11.12.13'] })
    world.dns.set('closed.test', { a: [closed.address] })
    const allowedPrivate = [parseAddressRange(closed.address)!]

    const failures = [
      await world.fetch('http://private.test/', { allowed: allowedPrivate }),
      await world.fetch(`http://closed.test:${closed.port}/`, { allowed: allowedPrivate }),
    ]

    const words = failures.map((failure) => (failure.kind === 'failed' ? failure.words : '')).join()
    expect(words).toContain('port')
    expect(words).not.toMatch(/\d+\.\d+\.\d+\.\d+/)
  })
})
