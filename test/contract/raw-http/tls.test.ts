import assert from 'node:assert/strict'
import { connect as connectPlain } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { describe, it } from 'vitest'
import { makeCertificate } from '../../support/media-world/certificates.ts'
import { RawConnection } from './raw-connection.ts'
import { withServer } from './server-under-test.ts'

const NAMES = { names: ['send.example.com'], addresses: ['127.0.0.1'] }
const FIRST = makeCertificate(NAMES)
const SECOND = makeCertificate(NAMES)
const SHORT_TIMES = { headersTimeoutMs: 1_500, requestTimeoutMs: 2_000, checkIntervalMs: 50 }

/** Resolves with the serial number of the server's certificate, and leaves the connection open. */
async function shownBy(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await event(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

function event(socket: TLSSocket, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    socket.once(name, resolve).once('error', reject)
  })
}

describe('a server with a certificate', () => {
  it('speaks TLS 1.2 and 1.3, and nothing older', async () => {
    await withServer({ tls: FIRST }, async ({ port }) => {
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        const socket = connect({ port, rejectUnauthorized: false, minVersion: version, maxVersion: version })
        await event(socket, 'secureConnect')
        assert.equal(socket.getProtocol(), version)
        socket.destroy()
      }
      const old = connect({
        port,
        rejectUnauthorized: false,
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      })

      await assert.rejects(event(old, 'secureConnect'))
    })
  })

  it('uses a new certificate for new connections, and leaves open ones as they are', async () => {
    await withServer({ tls: FIRST }, async (server) => {
      const before = await shownBy(server.port)
      const connection = await server.connect()

      server.server.renewTls(SECOND)

      assert.notEqual(await shownBy(server.port), before)
      connection.send(server.write())
      assert.equal((await connection.nextReply())?.status, 200)
    })
  })

  it('keeps the old certificate if the new one is unusable', async () => {
    await withServer({ tls: FIRST }, async (server) => {
      const before = await shownBy(server.port)

      assert.throws(() => server.server.renewTls({ cert: SECOND.cert, key: FIRST.key }))

      assert.equal(await shownBy(server.port), before)
    })
  })

  it('ends connections without a handshake or with plain HTTP, and counts no reply for them', async () => {
    await withServer({ tls: FIRST, limits: SHORT_TIMES }, async (server) => {
      const silent = await RawConnection.open(server.port)
      const plain = await RawConnection.open(server.port)
      plain.send(server.write())

      await silent.untilClosed()
      const said = await plain.untilClosed()

      assert.doesNotMatch(said, /HTTP\/1/)
      assert.deepEqual(server.counted, [])
      assert.equal((await server.ask())?.status, 200)
    })
  })

  it('does not wait for unfinished handshakes when it stops', async () => {
    await withServer(
      { tls: FIRST, limits: { headersTimeoutMs: 60_000, requestTimeoutMs: 60_000, closeGraceMs: 60_000 } },
      async (server) => {
        const silent = connectPlain({ port: server.port, host: '127.0.0.1' })
        silent.on('error', () => {})
        const gone = new Promise((resolve) => silent.once('close', resolve))
        // Once this is answered, the other connection has been accepted, too.
        await server.ask()

        await server.stop()

        await gone
      },
    )
  })
})
