import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeCertificate } from '../../test/support/media-world/certificates.ts'
import { MediaWorld } from '../../test/support/media-world/media-world.ts'
import { randomLoopback } from '../../test/support/media-world/test-host.ts'

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

// Random, so that two pieces that change places do not go unnoticed.
const FILE = randomBytes(3_000_000)
const SHA256 = createHash('sha256').update(FILE).digest('hex')
const HEAD = 'HTTP/1.1 200 OK\r\n'

type Framing = 'length' | 'length and close' | 'pieces' | 'pieces and close' | 'until the end'

/** Sends the file in writes of changing sizes, and closes at once after the last byte. */
function sending(framing: Framing, sizes: readonly number[]) {
  const isChunked = framing.startsWith('pieces')
  const headers = [
    ...(isChunked
      ? ['transfer-encoding: chunked\r\n']
      : framing === 'until the end'
        ? []
        : [`content-length: ${FILE.length}\r\n`]),
    ...(framing.endsWith('close') ? ['connection: close\r\n'] : []),
  ]
  const send = async (socket: Socket) => {
    socket.write(`${HEAD}${headers.join('')}\r\n`)
    for (let at = 0, turn = 0; at < FILE.length && !socket.destroyed; turn += 1) {
      const piece = FILE.subarray(at, at + (sizes[turn % sizes.length] ?? 1))
      at += piece.length
      const framed = isChunked
        ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
        : piece
      if (!socket.write(framed)) await once(socket, 'drain').catch(() => {})
    }
    socket.end(isChunked ? '0\r\n\r\n' : '')
  }
  return (socket: Socket) => void send(socket)
}

const FRAMINGS: readonly Framing[] = ['length', 'length and close', 'pieces', 'pieces and close', 'until the end']
const SIZES = [[65_536], [1_000_000], [100, 5, 70_000, 16_384, 1]]
const CASES = FRAMINGS.flatMap((framing) => SIZES.map((sizes) => [framing, sizes] as const))

describe('a whole file arrives whole', () => {
  it.each(CASES)('framed by %s, written in %j bytes, ten at once', async (framing, sizes) => {
    const host = await world.host(sending(framing, sizes))

    const fetched = await Promise.all(Array.from({ length: 10 }, () => world.fetch(host.url(), { type: 'document' })))

    for (const one of fetched)
      expect(one).toMatchObject({ kind: 'fetched', file: { sizeBytes: FILE.length, sha256: SHA256 } })
  })

  it.each(CASES)('framed by %s, written in %j bytes, over TLS', async (framing, sizes) => {
    const address = randomLoopback()
    const certificate = makeCertificate({ addresses: [address] })
    const host = await world.host(sending(framing, sizes), { address, certificate })

    const fetched = await world.fetch(host.url('/', 'https'), {
      type: 'document',
      trustedCertificates: [certificate.cert],
    })

    expect(fetched).toMatchObject({ kind: 'fetched', file: { sizeBytes: FILE.length, sha256: SHA256 } })
  })
})
