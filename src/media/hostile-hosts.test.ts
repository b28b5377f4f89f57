import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MediaWorld, PNG } from '../../test/support/media-world/media-world.ts'
import { answering, endless, response, type Script, type TestHost } from '../../test/support/media-world/test-host.ts'

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

const HEAD = 'HTTP/1.1 200 OK\r\n'
const SMALL_CAPS = { image: 100_000, video: 100_000, audio: 100_000, document: 100_000 }

/** A failed fetch leaves no file and no connection. */
async function expectNothingLeft(host: TestHost): Promise<void> {
  expect(await world.spooled()).toEqual([])
  await expect.poll(() => host.open).toBe(0)
}

describe('bodies of the wrong size', () => {
  it('refuses a length over the cap without reading the body', async () => {
    const sent = { bytes: 0 }
    const host = await world.host(
      endless(`${HEAD}content-length: ${10 * 1024 ** 3}\r\n\r\n`, Buffer.alloc(65_536), sent),
    )

    const failed = await world.fetch(host.url(), { type: 'document' })

    expect(failed).toMatchObject({ code: 'media_too_big', mayPass: false })
    expect((failed as { words: string }).words).toContain('10.0 GB')
    await expectNothingLeft(host)
    // What the system's buffers took before they noticed; a reader would have taken it all.
    expect(sent.bytes).toBeLessThan(20_000_000)
  })

  it('refuses a length that no number can hold', async () => {
    const host = await world.host((socket) => socket.write(`${HEAD}content-length: ${'9'.repeat(400)}\r\n\r\n`))

    expect(await world.fetch(host.url())).toMatchObject({ kind: 'failed', mayPass: false })
    await expectNothingLeft(host)
  })

  it.each([
    ['without a length', `${HEAD}\r\n`],
    ['in pieces', `${HEAD}transfer-encoding: chunked\r\n\r\n`],
  ])('ends an endless body %s at the cap', async (_how, head) => {
    const piece = head.includes('chunked')
      ? Buffer.concat([Buffer.from('8000\r\n'), Buffer.alloc(0x8000), Buffer.from('\r\n')])
      : Buffer.alloc(0x8000)
    const host = await world.host(endless(head, piece))

    const failed = await world.fetch(host.url(), { type: 'document', maxBytes: SMALL_CAPS })

    expect(failed).toMatchObject({ code: 'media_too_big', mayPass: false })
    await expectNothingLeft(host)
  })

  it('takes a file of exactly the cap and not one byte more', async () => {
    const maxBytes = { ...SMALL_CAPS, document: 5000 }
    const exact = await world.host((socket) =>
      socket.end(Buffer.concat([Buffer.from(`${HEAD}\r\n`), Buffer.alloc(5000, 1)])),
    )
    const over = await world.host((socket) =>
      socket.end(Buffer.concat([Buffer.from(`${HEAD}\r\n`), Buffer.alloc(5001, 1)])),
    )

    expect(await world.fetch(exact.url(), { type: 'document', maxBytes })).toMatchObject({ file: { sizeBytes: 5000 } })
    expect(await world.fetch(over.url(), { type: 'document', maxBytes })).toMatchObject({ code: 'media_too_big' })
  })

  it('takes what the length says and leaves what follows', async () => {
    const host = await world.host((socket) => socket.write(`${HEAD}content-length: 5\r\n\r\nhelloworld`))

    const fetched = await world.fetch(host.url(), { type: 'document' })

    expect(fetched).toMatchObject({ file: { sizeBytes: 5, mime: 'text/plain' } })
    await expect.poll(() => host.open).toBe(0)
  })

  it.each([
    ['fewer bytes than its length', (socket) => socket.end(`${HEAD}content-length: 10\r\n\r\nhello`)],
    ['no last piece', (socket) => socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`)],
    ['half a piece', (socket) => socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\n5\r\nhel`)],
    [
      'a reset in the middle',
      (socket) => socket.write(`${HEAD}content-length: 10\r\n\r\nhello`, () => socket.resetAndDestroy()),
    ],
    ['an empty file', answering(200, {}, '')],
    ['an empty file in pieces', (socket) => socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`)],
  ] satisfies [string, Script][])('calls %s truncated', async (_what, script) => {
    const host = await world.host(script)

    expect(await world.fetch(host.url(), { type: 'document' })).toMatchObject({
      code: 'media_truncated',
      mayPass: true,
    })
    await expectNothingLeft(host)
  })
})

describe('codings', () => {
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024))

  it.each([
    'gzip',
    'GZIP',
    'br',
    'deflate',
    'zstd',
    'gzip, gzip, gzip, gzip',
    'identity, gzip',
    'x-gzip',
    'compress',
    'binary, gzip',
    `${'gzip, '.repeat(500)}gzip`,
  ])('refuses the content encoding %s, packed bomb or not', async (coding) => {
    const host = await world.host(answering(200, { 'content-encoding': coding }, bomb))

    const failed = await world.fetch(host.url(), { type: 'document' })

    expect(failed).toMatchObject({ code: 'media_protocol', mayPass: false })
    expect((failed as { words: string }).words.length).toBeLessThan(200)
    await expectNothingLeft(host)
  })

  it('refuses two encoding headers of which one is harmless', async () => {
    const host = await world.host((socket) =>
      socket.end(`${HEAD}content-encoding: identity\r\ncontent-encoding: gzip\r\n\r\nx`),
    )

    expect(await world.fetch(host.url(), { type: 'document' })).toMatchObject({ code: 'media_protocol' })
  })

  it.each(['identity', 'Identity', '', 'binary', 'utf-8', 'none', 'aws-chunked', 'identity, , 8bit', 'gzipped'])(
    'takes the content encoding %j, which is none',
    async (coding) => {
      const host = await world.host((socket) =>
        socket.end(`${HEAD}content-encoding: ${coding}\r\ncontent-length: 5\r\n\r\nhello`),
      )

      expect((await world.fetch(host.url(), { type: 'document' })).kind).toBe('fetched')
    },
  )

  it('keeps a packed file that is said to be just a file, and does not open it', async () => {
    const host = await world.host(answering(200, { 'content-type': 'application/gzip' }, bomb))

    expect(await world.fetch(host.url(), { type: 'document' })).toMatchObject({
      file: { sizeBytes: bomb.length, mime: 'application/gzip' },
    })
  })

  it('refuses a transfer coding that packs', async () => {
    const host = await world.host((socket) =>
      socket.end(`${HEAD}transfer-encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    )

    expect(await world.fetch(host.url(), { type: 'document' })).toMatchObject({ code: 'media_protocol' })
  })
})

describe('responses that violate HTTP', () => {
  it.each([
    [
      'an unrequested upgrade',
      (socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nxxxx'),
    ],
    ['an upgrade without headers', (socket) => socket.write('HTTP/1.1 101 Switching\r\n\r\nxxxx')],
    ['a 100 instead of an answer', (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\nhello')],
    ['a flood of 100', endless('', Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'))],
    ['a flood of interim responses', endless('', Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'))],
    [
      'a flood of early hints',
      endless('', Buffer.from(`HTTP/1.1 103 Early Hints\r\nlink: ${'x'.repeat(8000)}\r\n\r\n`)),
    ],
    ['headers of a megabyte', (socket) => socket.write(`${HEAD}x: ${'x'.repeat(1_000_000)}\r\n\r\n`)],
    ['headers without end', endless(HEAD, Buffer.from(`x: ${'x'.repeat(1000)}\r\n`))],
    ['a status line without end', endless('HTTP/1.1 200 ', Buffer.from('O'.repeat(1000)))],
    ['two lengths', (socket) => socket.end(`${HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\nhello!`)],
    [
      'a length and pieces',
      (socket) => socket.end(`${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    ],
    ['a negative length', (socket) => socket.end(`${HEAD}content-length: -5\r\n\r\nhello`)],
    [
      'a broken piece size',
      (socket) => socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n`),
    ],
    ['HTTP/2', (socket) => socket.end('\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80\0\x04\0\x01\0\0\0\x05\0\xff\xff\xff')],
    ['another protocol', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
    ['a header line without a name', (socket) => socket.end(`${HEAD}: x\r\n\r\nhello`)],
    ['a NUL in a header', (socket) => socket.end(`${HEAD}x: a\0b\r\n\r\nhello`)],
  ] satisfies [string, Script][])('refuses %s', async (_what, script) => {
    const host = await world.host(script)

    const failed = await world.fetch(host.url(), { type: 'document' })

    expect(failed).toMatchObject({ code: 'media_protocol', mayPass: false })
    await expectNothingLeft(host)
  })

  it.each([
    ['closes at once', (socket) => socket.end()],
    ['resets at once', (socket) => socket.resetAndDestroy()],
    ['closes in the headers', (socket) => socket.end(`${HEAD}x: y\r\n`)],
  ] satisfies [string, Script][])('says that there was no answer when the host %s', async (_what, script) => {
    const host = await world.host(script)

    expect(await world.fetch(host.url())).toMatchObject({ code: 'media_connect', mayPass: true })
    await expectNothingLeft(host)
  })

  it('takes a few early hints before the answer, and not many', async () => {
    const host = await world.host((socket, request) => {
      const hints = Number(/GET \/(\d+)/.exec(request)?.[1])
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(hints))
      socket.end(response(200, {}, PNG))
    })

    expect((await world.fetch(host.url('/8'))).kind).toBe('fetched')
    expect(await world.fetch(host.url('/9'))).toMatchObject({ code: 'media_protocol' })
  })

  it('accepts a file after unrequested interim responses', async () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 \r\n\r\n'
    const answer = response(200, {}, 'HTTP/1.1 100 Continue\r\n\r\n')
    const host = await world.host((socket) => socket.end(Buffer.concat([Buffer.from(interim), answer])))

    const fetched = await world.fetch(host.url(), { type: 'document' })

    // What is in the file is left as it is.
    expect(fetched).toMatchObject({ file: { sizeBytes: 25, sha256: hash('sha256', 'HTTP/1.1 100 Continue\r\n\r\n') } })
  })

  it('takes pieces with comments and trailers', async () => {
    const host = await world.host((socket) =>
      socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n`),
    )

    expect(await world.fetch(host.url(), { type: 'document' })).toMatchObject({ file: { sizeBytes: 5 } })
  })

  it.each([
    ['every byte in a piece of its own', '1\r\nx\r\n'.repeat(10_000)],
    ['comments longer than the pieces', `1;${'x'.repeat(1000)}\r\nx\r\n`.repeat(10)],
  ])('ends a transfer that is mostly framing: %s', async (_what, piece) => {
    const host = await world.host(endless(`${HEAD}transfer-encoding: chunked\r\n\r\n`, Buffer.from(piece)))

    expect(await world.fetch(host.url(), { type: 'document' })).toMatchObject({ code: 'media_protocol' })
    await expectNothingLeft(host)
  })
})

describe('statuses', () => {
  it.each([400, 401, 403, 404, 410, 451, 204, 206, 300, 304])('fails for good with status %d', async (status) => {
    const host = await world.host(answering(status, {}, ''))

    expect(await world.fetch(host.url())).toMatchObject({ code: 'media_status', mayPass: false, retryAfterMs: null })
    await expectNothingLeft(host)
  })

  it.each([408, 425, 429, 500, 502, 503, 504])(
    'may pass later with status %d, after the time that the host asks for',
    async (status) => {
      const host = await world.host(answering(status, { 'retry-after': '7' }, 'busy'))

      expect(await world.fetch(host.url())).toMatchObject({ code: 'media_status', mayPass: true, retryAfterMs: 7000 })
    },
  )
})
