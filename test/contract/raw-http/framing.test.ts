import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { describe, it } from 'vitest'
import { codesOf, envelopeOf } from './raw-connection.ts'
import { GOOD_BODY, PATH, type RequestFacts, withServer } from './server-under-test.ts'

const LENGTH = String(GOOD_BODY.length)
const CHUNKED = { 'Content-Length': null, 'Transfer-Encoding': 'chunked' }
const ONE_CHUNK = `${GOOD_BODY.length.toString(16)}\r\n${GOOD_BODY}\r\n0\r\n\r\n`

describe('an ambiguous request', () => {
  // Name, change to a valid request, and status and code of the refusal.
  const REFUSED: readonly [string, RequestFacts, string][] = [
    [
      'transfer coding xchunked',
      { headers: { ...CHUNKED, 'Transfer-Encoding': 'xchunked' } },
      '400 transfer_encoding_unsupported',
    ],
    [
      'a blank before the colon',
      { headers: { ...CHUNKED, 'Transfer-Encoding': null, 'Transfer-Encoding ': 'chunked' } },
      '400 malformed_request',
    ],
    [
      'chunked not last',
      { headers: { ...CHUNKED, 'Transfer-Encoding': 'chunked, identity' } },
      '400 malformed_request',
    ],
    [
      'gzip, chunked',
      { headers: { ...CHUNKED, 'Transfer-Encoding': 'gzip, chunked' }, body: ONE_CHUNK },
      '400 transfer_encoding_unsupported',
    ],
    [
      'chunked twice in one',
      { headers: { ...CHUNKED, 'Transfer-Encoding': 'chunked, chunked' }, body: ONE_CHUNK },
      '400 malformed_request',
    ],
    [
      'chunked twice',
      { headers: { ...CHUNKED, 'Transfer-Encoding': ['chunked', 'chunked'] }, body: ONE_CHUNK },
      '400 malformed_request',
    ],
    [
      'chunked in HTTP/1.0',
      { version: 'HTTP/1.0', headers: CHUNKED, body: ONE_CHUNK },
      '400 transfer_encoding_unsupported',
    ],
    ['a length and chunks', { headers: { 'Transfer-Encoding': 'chunked' }, body: ONE_CHUNK }, '400 malformed_request'],
    ['length +7', { headers: { 'Content-Length': '+7' } }, '400 malformed_request'],
    ['length 0x7', { headers: { 'Content-Length': '0x7' } }, '400 malformed_request'],
    ['length -1', { headers: { 'Content-Length': '-1' } }, '400 malformed_request'],
    ['length 7, 7', { headers: { 'Content-Length': '7, 7' } }, '400 malformed_request'],
    ['a length of 20 digits', { headers: { 'Content-Length': '9'.repeat(20) } }, '400 malformed_request'],
    ['two lengths', { headers: { 'Content-Length': [LENGTH, LENGTH] } }, '400 malformed_request'],
    ['an empty length', { headers: { 'Content-Length': '' } }, '400 malformed_request'],
    ['two hosts', { headers: { Host: ['a.example.com', 'b.example.com'] } }, '400 header_repeated'],
    ['the same host twice, in other letters', { headers: { Host: 'a', HOST: 'a' } }, '400 header_repeated'],
    ['no host', { headers: { Host: null } }, '400 malformed_request'],
    ['HTTP/2.0', { version: 'HTTP/2.0' }, '505 http_version_unsupported'],
    ['HTTP/0.9', { version: 'HTTP/0.9' }, '505 http_version_unsupported'],
    ['HTTP/1.2', { version: 'HTTP/1.2' }, '400 malformed_request'],
    ['HTTP/3', { version: 'HTTP/3' }, '400 malformed_request'],
    [
      'a chunk size that is no number',
      { headers: CHUNKED, body: `18 f\r\n${GOOD_BODY}\r\n0\r\n\r\n` },
      '400 malformed_request',
    ],
    [
      'a chunk extension of 20 KB',
      { headers: CHUNKED, body: `5;a=${'b'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n` },
      '400 malformed_request',
    ],
    [
      'a chunk that is longer than it says',
      { headers: CHUNKED, body: '5\r\nhello!!\r\n0\r\n\r\n' },
      '400 malformed_request',
    ],
    ['chunks ended by LF only', { headers: CHUNKED, body: '5\nhello\n0\n\n' }, '400 malformed_request'],
    ['a negative chunk size', { headers: CHUNKED, body: '-5\r\nhello\r\n0\r\n\r\n' }, '400 malformed_request'],
    ['an enormous chunk size', { headers: CHUNKED, body: 'fffffffffffffffff\r\nhello' }, '400 malformed_request'],
    ['another expectation', { headers: { Expect: 'foo' } }, '417 expectation_unsupported'],
    ['a second expectation', { headers: { Expect: 'foo, 100-continue' } }, '417 expectation_unsupported'],
    ['two expectations', { headers: { Expect: ['100-continue', '100-continue'] } }, '400 header_repeated'],
    [
      '65 headers',
      { headers: Object.fromEntries(Array.from({ length: 61 }, (_, n) => [`x-${n}`, 'a'])) },
      '431 headers_too_large',
    ],
    ['headers of more than 8 KiB', { headers: { 'x-large': 'a'.repeat(8192) } }, '431 headers_too_large'],
    ['a token of 8 KiB', { headers: { 'x-api-key': 'a'.repeat(8192) } }, '431 headers_too_large'],
    ['a path of 8 KiB', { target: `/${'a'.repeat(8192)}` }, '431 headers_too_large'],
    ['a control character in a header', { headers: { 'x-odd': 'a\u0001b' } }, '400 malformed_request'],
    ['a NUL in a header', { headers: { 'x-odd': 'a\u0000b' } }, '400 malformed_request'],
    ['a line break inside a header', { headers: { 'x-odd': 'a\nb' } }, '400 malformed_request'],
    ['a folded header', { headers: { 'x-odd': 'a\r\n b' } }, '400 malformed_request'],
    ['a token with a line break', { headers: { 'x-api-key': 'nco_\nb' } }, '400 malformed_request'],
    ['a blank in the path', { target: '/chat api' }, '400 malformed_request'],
    ['an unknown method', { method: 'SEND' }, '400 malformed_request'],
    ['a method in small letters', { method: 'post' }, '400 malformed_request'],
    ['a fragment as the whole path', { target: '' }, '400 malformed_request'],
  ]

  it.each(REFUSED)('%s is refused and ends the connection', async (_, facts, expected) => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send(server.write(facts))
      // The rest must not be read as a request.
      connection.send(server.write())

      const reply = await connection.nextReply()

      assert.equal(`${reply?.status} ${codesOf(reply)}`, expected)
      assert.equal(envelopeOf(reply).code, 'HC-2')
      assert.equal(reply?.headers['connection'], 'close')
      assert.match(reply?.headers['x-request-id'] ?? '', /^[0-9a-z]{8}-[0-9a-z]+$/)
      assert.equal(await connection.untilClosed(), '')
      assert.equal(server.intake.accepted.length, 0)
    })
  })

  it.each(['/console/', '/console?a=b', '/docs/', '/'])(
    'takes 16 KiB of headers for %s, and no more',
    async (target) => {
      await withServer({}, async (server) => {
        const statusWith = async (cookieBytes: number) => {
          const connection = await server.connect()
          connection.send(server.write({ method: 'GET', target, headers: { cookie: 'a'.repeat(cookieBytes) } }))
          return (await connection.nextReply())?.status
        }

        assert.notEqual(await statusWith(15_500), 431)
        assert.equal(await statusWith(16_384), 431)
      })
    },
  )

  it('garbage is refused', async () => {
    await withServer({}, async (server) => {
      for (const bytes of [
        '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
        'hello\r\n\r\n',
        '\r\n\r\n\0\0\0\0',
        'GET\r\n\r\n',
      ]) {
        const connection = await server.connect()
        connection.send(bytes)

        const reply = await connection.nextReply()

        assert.equal(reply?.status, 400)
        assert.deepEqual(codesOf(reply), ['malformed_request'])
        assert.equal(await connection.untilClosed(), '')
      }
    })
  })

  it('the preface of HTTP/2 is refused', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

      const reply = await connection.nextReply()

      assert.ok(reply === null || reply.status === 400 || reply.status === 505)
      assert.equal(await connection.untilClosed(), '')
    })
  })

  it('CONNECT is closed without a reply', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send('CONNECT send.example.com:443 HTTP/1.1\r\nHost: send.example.com\r\n\r\n')

      assert.equal(await connection.untilClosed(), '')
    })
  })

  it('an upgrade is ignored: the request is answered as it is', async () => {
    await withServer({}, async (server) => {
      const reply = await server.ask({ headers: { Connection: 'Upgrade', Upgrade: 'websocket' } })

      assert.equal(reply?.status, 200)
    })
  })
})

describe('paths and methods', () => {
  it('TRACE is refused, but below /chat/api/ it gets 404', async () => {
    await withServer({}, async (server) => {
      const outside = await server.ask({ method: 'TRACE', target: '/', headers: { 'Content-Length': null }, body: '' })
      const inside = await server.ask({ method: 'TRACE', headers: { 'Content-Length': null }, body: '' })

      assert.equal(outside?.status, 405)
      assert.deepEqual(codesOf(outside), ['method_unsupported'])
      assert.equal(outside?.headers['allow'], 'GET, HEAD, POST')
      assert.equal(inside?.status, 404)
      assert.equal(envelopeOf(inside).code, 'HC-6')
    })
  })

  it.each(METHODS.filter((method) => !['POST', 'CONNECT', 'TRACE', 'HEAD'].includes(method)))(
    '%s on the path of the endpoint finds nothing',
    async (method) => {
      await withServer({}, async (server) => {
        const reply = await server.ask({ method })

        assert.equal(reply?.status, 404)
        assert.equal(envelopeOf(reply).name, 'route_not_found_404')
        assert.deepEqual(codesOf(reply), ['route_not_found'])
      })
    },
  )

  it.each([
    `${PATH}/`,
    `/${PATH}`,
    PATH.toUpperCase(),
    '/chat/api/',
    '/chat/api/v2/public/message/send',
    '/chat/api/%zz',
    '/chat/api/%00',
    '/chat/api/../../etc/passwd',
    `${PATH}/../send`,
    '/chat/api/v1/public/message/send%2f',
    '*',
    '/',
    '/favicon.ico',
  ])('there is nothing at %s, whatever the body', async (target) => {
    await withServer({}, async (server) => {
      for (const headers of [
        {},
        { 'Content-Type': 'text/plain' },
        { 'Content-Type': ';;' },
        { 'Content-Type': null },
      ]) {
        const reply = await server.ask({ target, headers })

        assert.equal(reply?.status, 404)
        assert.equal(envelopeOf(reply).code, 'HC-6')
      }
    })
  })

  it.each([
    ['a query, which is ignored', `${PATH}?x-api-key=secret&a[]=1`],
    ['an absolute address', `http://send.example.com${PATH}`],
  ])('the path may be written with %s', async (_, target) => {
    await withServer({}, async (server) => {
      assert.equal((await server.ask({ target }))?.status, 200)
    })
  })

  it('no header turns a request into another one', async () => {
    await withServer({}, async (server) => {
      const headers = { 'Accept-Version': '2.x', 'X-HTTP-Method-Override': 'DELETE', 'X-Original-URL': '/nothing' }

      assert.equal((await server.ask({ headers }))?.status, 200)
    })
  })

  it('nothing reveals the software of the service', async () => {
    await withServer({}, async (server) => {
      for (const reply of [await server.ask(), await server.ask({ target: '/nothing' })]) {
        assert.deepEqual(
          Object.keys(reply?.headers ?? {}).filter((name) => /server|powered|via/.test(name)),
          [],
        )
        assert.doesNotMatch(reply?.text ?? '', /fastify|node|zod|\.ts/i)
      }
    })
  })
})
