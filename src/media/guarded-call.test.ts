import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NOT_PUBLIC } from '../../test/support/media-world/hostile-urls.ts'
import { MediaWorld } from '../../test/support/media-world/media-world.ts'
import {
  answering,
  drip,
  endless,
  redirecting,
  response,
  type Script,
  type TestHost,
} from '../../test/support/media-world/test-host.ts'
import { parseAddressRange } from '../core/media-address/ip-address.ts'
import type { CallEnd, CallWanted } from '../core/ports/guarded-call.ts'
import { createGuardedCall } from './create-guarded-call.ts'

let world: MediaWorld
let canary: TestHost
beforeEach(async () => {
  world = await MediaWorld.open()
  canary = await world.canary()
})
afterEach(() => world.close())

const MOST_ANSWER_BYTES = 65_536
const HEAD = 'HTTP/1.1 200 OK\r\n'

interface How extends Partial<CallWanted> {
  readonly origins?: readonly string[]
  readonly refused?: readonly string[]
  readonly signal?: AbortSignal
  readonly mayBegin?: () => boolean
}

function call(url: string, how: How = {}): Promise<CallEnd> {
  const { origins = [], refused = [], signal = new AbortController().signal, mayBegin, ...wanted } = how
  const guarded = createGuardedCall({
    origins,
    refused: refused.map((text) => parseAddressRange(text)!),
    dnsServers: [world.dns.address],
  })
  const request = { method: 'POST', url, headers: {}, body: '{}', timeoutMs: 30_000, ...wanted } as const
  return guarded.call({ ...request, mostAnswerBytes: MOST_ANSWER_BYTES }, { signal, ...(mayBegin && { mayBegin }) })
}

/** To a host whose origin the operator opened. */
function callHost(host: TestHost, how: How = {}): Promise<CallEnd> {
  return call(host.url('/v1/attempts'), { origins: [originOf(host)], ...how })
}

function originOf(host: TestHost): string {
  return new URL(host.url()).origin
}

describe('a call to an address that an account gave', () => {
  it('sends method, headers and body, and returns status, headers and the whole body', async () => {
    const host = await world.host(answering(201, { 'webhook-id': 'att_1' }, 'x'.repeat(MOST_ANSWER_BYTES)))

    const end = await callHost(host, { method: 'PUT', headers: { 'nuncio-bridge': '1' } })

    expect(end).toMatchObject({ kind: 'answered', status: 201 })
    if (end.kind !== 'answered') return
    expect([end.header('webhook-id'), end.header('absent'), end.body.length]).toEqual(['att_1', null, 65_536])
    expect(host.requests[0]).toMatch(/^PUT \/v1\/attempts HTTP\/1\.1\r\n/)
    expect(host.requests[0]).toContain('nuncio-bridge: 1')
  })

  it('sends a file as the body, with its length', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nuncio-call-'))
    const path = join(folder, 'file')
    await writeFile(path, Buffer.alloc(300_000, 'y'))
    let bytes = 0
    const host = await world.host(() => {}, {
      onConnect: (socket) =>
        socket.on('data', (piece) => {
          bytes += piece.length
          if (bytes > 300_000) socket.end(response(200, {}, ''))
        }),
    })

    const end = await callHost(host, { method: 'PUT', body: { path, sizeBytes: 300_000 } })
    await rm(folder, { recursive: true })

    expect(end).toMatchObject({ kind: 'answered', status: 200 })
    expect(host.requests[0]).toContain('content-length: 300000')
  })

  it.each(NOT_PUBLIC)('G9: does not call %s, with https either', async (url) => {
    const ends = [await call(url), await call(url.replace(/^http:/i, 'https:'))]

    for (const end of ends) {
      expect(end).toMatchObject({ kind: 'not-sent' })
      expect(['blocked', 'name_unknown']).toContain((end as { code: string }).code)
    }
    expect(canary.connects).toBe(0)
  })

  it('G9: does not call a name that resolves into our network, beside a public address too', async () => {
    world.dns.set('evil.nuncio-test.com', { a: ['127.0.0.1'] })
    world.dns.set('mixed.nuncio-test.com', { a: ['8.8.8.8', '127.0.0.1'] })
    world.dns.set('mapped.nuncio-test.com', { aaaa: ['::ffff:127.0.0.1'] })

    for (const name of ['evil', 'mixed', 'mapped']) {
      const end = await call(`https://${name}.nuncio-test.com/`)
      expect(end).toEqual({
        kind: 'not-sent',
        code: 'blocked',
        words: 'The URL leads to an address that is not called.',
      })
    }
    expect(canary.connects).toBe(0)
  })

  it('G9: asks for a name once in each call, and checks what it has become in the next', async () => {
    const host = await world.host(answering(200, {}, ''))
    const name = 'rebinding.nuncio-test.com'
    const addresses = [host.address, '127.0.0.1', '127.0.0.1']
    world.dns.set(name, (count) => ({ a: [addresses[Math.min(count, addresses.length) - 1] ?? ''] }))
    const origin = `http://${name}:${host.port}`
    // On the same port, so that a second look-up within the first call would reach it.
    const trap = await world.canary('127.0.0.1', host.port)

    const ends = [
      await call(`${origin}/`, { origins: [origin], refused: ['127.0.0.1'] }),
      await call(`${origin}/`, { origins: [origin], refused: ['127.0.0.1'] }),
    ]

    expect(ends).toMatchObject([{ kind: 'answered' }, { kind: 'not-sent', code: 'blocked' }])
    expect([host.connects, trap.connects]).toEqual([1, 0])
    expect(world.dns.questions.filter((question) => question.includes(name) && question.startsWith('A '))).toHaveLength(
      2,
    )
  })

  it('G9: an origin that the operator opened opens no other port, scheme, host or way to write it', async () => {
    const host = await world.host(answering(200, {}, ''))
    const origins = [originOf(host)]
    const decimal = host.address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
    const others = [
      canary.url(),
      host.url('/', 'https'),
      `http://${host.address}:${canary.port}/`,
      `http://user@${host.address}:${host.port}/`,
      `http://127.0.0.1:${host.port}/`,
    ]

    for (const url of others) expect(await call(url, { origins })).toMatchObject({ kind: 'not-sent' })
    expect(host.connects).toBe(0)
    // The same address, so the same origin.
    expect(await call(`http://${decimal}:${host.port}/`, { origins })).toMatchObject({ kind: 'answered' })
    expect(canary.connects).toBe(0)
  })

  it('G9: ranges that the operator closed win over the origins', async () => {
    const host = await world.host(answering(200, {}, ''))

    const end = await callHost(host, { refused: [host.address] })

    expect(end).toMatchObject({ kind: 'not-sent', code: 'blocked' })
    expect(host.connects).toBe(0)
  })

  it('G9: follows no redirect', async () => {
    const host = await world.host(redirecting(canary.url(), 307))

    expect(await callHost(host, { origins: [originOf(host), originOf(canary)] })).toMatchObject({
      kind: 'answered',
      status: 307,
    })
    expect(canary.connects).toBe(0)
  })
})

describe('a call that does not come to its end', () => {
  it('G5: was certainly not sent when nothing listens, the name is unknown, or there is no TLS', async () => {
    const host = await world.host(answering(200, {}, ''))
    const plain = `https://${host.address}:${host.port}`
    await host.close()
    const gone = await callHost(host)
    const open = await world.host((socket) => socket.end('HTTP/1.1 400 no TLS here\r\n\r\n'), { onConnect: hangUp })

    expect(gone).toMatchObject({ kind: 'not-sent', code: 'unreachable' })
    expect(await call('https://nowhere.nuncio-test.com/')).toMatchObject({ kind: 'not-sent', code: 'name_unknown' })
    const secure = `https://${open.address}:${open.port}`
    expect(await call(`${secure}/`, { origins: [secure, plain] })).toMatchObject({ kind: 'not-sent', code: 'tls' })
  })

  it('G6: was certainly not sent when it may not begin once the connection is there', async () => {
    const host = await world.host(answering(200, {}, ''))
    let asked = 0
    const mayBegin = () => {
      asked += 1
      return false
    }

    const end = await callHost(host, { mayBegin })

    expect(end).toMatchObject({ kind: 'not-sent', code: 'interrupted' })
    expect([asked, host.connects, host.requests]).toEqual([1, 1, []])
  })

  it('G5: was certainly not sent when it is stopped before', async () => {
    const host = await world.host(answering(200, {}, ''))

    const end = await callHost(host, { signal: AbortSignal.abort(new Error('stopped')) })

    expect(end).toMatchObject({ kind: 'not-sent', code: 'interrupted' })
    expect(host.connects).toBe(0)
  })

  const sent = { bytes: 0 }
  const ends: readonly (readonly [how: string, script: Script, code: string])[] = [
    ['the line is cut', (socket) => socket.destroy(), 'unreachable'],
    ['the line is reset', (socket) => socket.resetAndDestroy(), 'unreachable'],
    ['no answer comes', () => {}, 'timeout'],
    ['its headers drip', drip(HEAD, { piece: Buffer.from('x: y\r\n'), everyMs: 20 }), 'timeout'],
    ['its headers never end', endless(HEAD, Buffer.from(`x-${'y'.repeat(500)}: z\r\n`)), 'protocol'],
    ['it is no HTTP', (socket) => socket.end('220 mail.example.org ESMTP\r\n'), 'protocol'],
    ['its body drips', drip(`${HEAD}\r\n`, { piece: Buffer.from('x'), everyMs: 20 }), 'timeout'],
    ['its body never ends', endless(`${HEAD}\r\n`, Buffer.alloc(65_536, 'x'), sent), 'protocol'],
    ['it is one byte too long', answering(200, {}, Buffer.alloc(MOST_ANSWER_BYTES + 1)), 'protocol'],
    ['it is cut off', (socket) => socket.end(`${HEAD}content-length: 9\r\n\r\nx`), 'unreachable'],
  ]

  it.each(ends)('G5: may have been sent when %s', async (_, script, code) => {
    const host = await world.host(script)

    const end = await callHost(host, { timeoutMs: 400 })

    expect(end).toMatchObject({ kind: 'unknown', code })
    expect(JSON.stringify(end)).not.toContain(host.address)
    await expect.poll(() => host.open).toBe(0)
    expect(sent.bytes).toBeLessThan(20_000_000)
  })

  it('G5: may have been sent when it is stopped after it began', async () => {
    const host = await world.host(() => {})
    const caller = new AbortController()
    const running = callHost(host, { signal: caller.signal })
    await expect.poll(() => host.requests.length).toBe(1)

    caller.abort(new Error('stopped'))

    expect(await running).toMatchObject({ kind: 'unknown', code: 'interrupted' })
    await expect.poll(() => host.open).toBe(0)
  })
})

function hangUp(socket: { end(text: string): unknown }): void {
  socket.end('no TLS here\r\n')
}
