import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, it, onTestFinished } from 'vitest'
import { makeCertificate } from '../../../test/support/media-world/certificates.ts'
import {
  answering,
  drip,
  randomLoopback,
  redirecting,
  response,
  type Script,
  TestHost,
  type TestHostOptions,
} from '../../../test/support/media-world/test-host.ts'
import { type CallLimits, type GraphAnswer, GraphClient, type GraphClientOptions } from './graph-client.ts'

const GOOD = response(200, {}, '{"messages":[{"id":"wamid.1"}]}')

describe('what a call says of its bytes', () => {
  it('G5: not sent, when the connection is refused', async () => {
    const host = await openHost(() => {})
    await host.close()

    const answer = await callTo(host.url(''))

    assert.deepEqual(whatOf(answer), ['not-sent', 'unreachable'])
  })

  it('G5: not sent, when the name leads nowhere', async () => {
    assert.deepEqual(whatOf(await callTo('http://missing.invalid')), ['not-sent', 'unreachable'])
  })

  it('G5: not sent, when the certificate is not to be trusted', async () => {
    const address = randomLoopback()
    const certificate = makeCertificate({ addresses: [address] })
    const host = await openHost((socket) => socket.end(GOOD), { address, certificate })

    const answer = await callTo(host.url('', 'https'))

    assert.deepEqual([whatOf(answer), host.requests], [['not-sent', 'unreachable'], []])
  })

  it('G5: not sent, when the other side does not even speak TLS in time', async () => {
    const host = await openHost(() => {})

    const answer = await callTo(host.url('', 'https'), { connectMs: 100 })

    assert.deepEqual(whatOf(answer), ['not-sent', 'unreachable'])
  })

  it('G5: not sent, when it is stopped while it still connects', async () => {
    const host = await openHost(() => {})
    const ending = new AbortController()

    const answering = callTo(host.url('', 'https'), {}, { signal: ending.signal })
    await pause(50)
    ending.abort()

    assert.deepEqual(whatOf(await answering), ['not-sent', 'interrupted'])
  })

  it('G5: unknown, when it is stopped after the request has left', async () => {
    const ending = new AbortController()
    const host = await openHost(() => ending.abort())

    const answer = await callTo(host.url(''), {}, { signal: ending.signal })

    assert.deepEqual([whatOf(answer), host.requests.length], [['unknown'], 1])
  })

  it.each<[string, Script]>([
    ['the connection is reset before any answer', (socket) => socket.resetAndDestroy()],
    ['the connection is closed before any answer', (socket) => socket.end()],
    [
      'the connection is reset in the middle of the headers',
      (socket) => writeThenReset(socket, 'HTTP/1.1 200 OK\r\ncont'),
    ],
    [
      'the connection is reset in the middle of the body',
      (socket) => writeThenReset(socket, GOOD.subarray(0, GOOD.length - 5)),
    ],
    ['the connection is closed in the middle of the body', (socket) => socket.end(GOOD.subarray(0, GOOD.length - 5))],
    ['the answer is no HTTP', (socket) => socket.end('nonsense\r\n\r\n')],
    ['the answer is too long', answering(200, {}, 'x'.repeat(300_000))],
    ['the answer never ends', drip('HTTP/1.1 200 OK\r\n\r\n', { piece: Buffer.alloc(65_536, 'x'), everyMs: 1 })],
    ['the headers are too long', answering(200, { long: 'x'.repeat(40_000) }, '{}')],
  ])('G5: unknown, when %s', async (_, script) => {
    const host = await openHost(script)

    const answer = await callTo(host.url(''))
    // Time for a second request that must not come.
    await pause(50)

    assert.deepEqual([whatOf(answer), host.requests.length], [['unknown'], 1])
  })

  it('answered, when the answer is whole, whatever it says', async () => {
    const host = await openHost(answering(418, {}, '{"error":{"code":1}}'))

    const answer = await callTo(host.url(''))

    assert.deepEqual(answer, { kind: 'answered', status: 418, body: { error: { code: 1 } } })
  })

  it('answered, when interim answers come first', async () => {
    const host = await openHost((socket) =>
      socket.end(Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n'), GOOD])),
    )

    assert.deepEqual(whatOf(await callTo(host.url(''))), ['answered', 200])
  })

  it('answered, when interim answers come on a connection that was used before', async () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'
    const { url, connects } = await openKeptAlive((_, socket) => !socket.write(interim))
    const client = openClient(url, { connections: 1 })

    const answers = [await call(client), await call(client)]

    assert.deepEqual(answers.map(whatOf), [
      ['answered', 200],
      ['answered', 200],
    ])
    assert.equal(connects(), 1)
  })

  it.each([
    ['compressed', answering(200, { 'content-encoding': 'gzip' }, Buffer.from([0x1f, 0x8b, 8, 0]))],
    ['a page', answering(503, {}, '<html>')],
    ['no UTF-8', answering(200, {}, Buffer.from([0x22, 0xff, 0x22]))],
    ['empty', answering(200, {}, '')],
  ])('has no JSON of an answer that is %s', async (_, script) => {
    const host = await openHost(script)

    const answer = await callTo(host.url(''))

    assert.equal(answer.kind === 'answered' && answer.body, undefined)
  })
})

describe('before the first byte', () => {
  it('G6: nothing is written once the claim is gone, even on a connection that stands', async () => {
    const { url, seen } = await openKeptAlive()
    const client = openClient(url)
    await call(client)
    await pause(5)

    const answer = await call(client, { stillHolds: () => false })
    // Negative control: the same call of a worker that still holds the lane is written.
    const control = await call(client, { stillHolds: () => true })

    assert.deepEqual(
      [whatOf(answer), whatOf(control), seen.length],
      [['not-sent', 'interrupted'], ['answered', 200], 2],
    )
  })

  it('is asked whether the claim still holds after the connection was made, and not before', async () => {
    const host = await openHost((socket) => socket.end(GOOD))
    const connects: number[] = []

    await callTo(host.url(''), {}, { stillHolds: () => connects.push(host.connects) > 0 })

    assert.deepEqual(connects, [1])
  })

  it('waits for a free connection no longer than it may', async () => {
    const host = await openHost(() => {})
    const client = openClient(host.url(''), { connections: 1 })
    const ending = new AbortController()
    const second = new AbortController()
    const first = call(client, { signal: ending.signal })
    while (host.requests.length === 0) await pause(5)

    const waiting = call(client, { signal: second.signal })
    await pause(20)
    second.abort()

    assert.deepEqual(whatOf(await waiting), ['not-sent', 'interrupted'])
    ending.abort()
    await first
    await pause(50)
    assert.equal(host.requests.length, 1)
  })
})

describe('the one who calls', () => {
  it('follows no redirect, which could lead inside our network', async () => {
    const inside = await openHost(answering(200, {}, '{}'))
    const host = await openHost(redirecting(inside.url('/')))

    const answer = await callTo(host.url(''))

    assert.deepEqual([whatOf(answer), inside.connects], [['answered', 302], 0])
  })

  it('G5: writes a request once, also when a kept connection dies under it', async () => {
    const { url, seen } = await openKeptAlive((count, socket) => count === 2 && socket.resetAndDestroy())
    const client = openClient(url)
    await call(client)
    await pause(5)

    const answer = await call(client)
    await pause(100)

    assert.deepEqual([whatOf(answer), seen.length], [['unknown'], 2])
  })

  it('keeps a connection for the next call', async () => {
    const { url, connects } = await openKeptAlive()
    const client = openClient(url)

    await call(client)
    // The outcome is committed meanwhile.
    await pause(5)
    await call(client)

    assert.equal(connects(), 1)
  })

  it('calls under the path of its base URL, with its token, and asks for nothing compressed', async () => {
    const host = await openHost(answering(200, {}, '{}'))

    await callTo(host.url('/meta/'))

    const [request = ''] = host.requests
    assert.match(request, /^POST \/meta\/v26\.0\/1\/messages\?a=b%26c HTTP\/1\.1\r\n/)
    assert.match(request, /authorization: Bearer a-token\r\n/)
    assert.match(request, /accept-encoding: identity\r\n/)
  })
})

async function openHost(script: Script, options: Partial<TestHostOptions> = {}): Promise<TestHost> {
  const host = await TestHost.open({ script, ...options })
  onTestFinished(() => host.close())
  return host
}

/** A server that keeps its connections; `meddle` is called with each request before it is answered. */
async function openKeptAlive(meddle: (count: number, socket: Socket) => unknown = () => false) {
  const seen: string[] = []
  let connects = 0
  const server = createServer((request, reply) => {
    seen.push(String(request.url))
    request.resume()
    if (!meddle(seen.length, request.socket)) reply.end('{}')
  })
  server.on('connection', () => {
    connects += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, connects: () => connects }
}

function openClient(baseUrl: string, options: Partial<GraphClientOptions> = {}): GraphClient {
  const client = new GraphClient(baseUrl, { connections: 4, ...options })
  onTestFinished(() => client.close())
  return client
}

function callTo(baseUrl: string, options: Partial<GraphClientOptions> = {}, limits: Partial<CallLimits> = {}) {
  return call(openClient(baseUrl, options), limits)
}

function call(client: GraphClient, limits: Partial<CallLimits> = {}): Promise<GraphAnswer> {
  const content = Buffer.from('{"to":"+1"}')
  return client.call(
    {
      method: 'POST',
      path: '/v26.0/1/messages',
      query: { a: 'b&c' },
      accessToken: 'a-token',
      body: content,
    },
    { signal: AbortSignal.timeout(10_000), ...limits },
  )
}

function whatOf(answer: GraphAnswer): readonly unknown[] {
  if (answer.kind === 'not-sent') return [answer.kind, answer.why]
  return answer.kind === 'answered' ? [answer.kind, answer.status] : [answer.kind]
}

function writeThenReset(socket: Socket, bytes: string | Buffer): void {
  socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 20))
}
