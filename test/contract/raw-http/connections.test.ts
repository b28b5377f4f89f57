import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { codesOf } from './raw-connection.ts'
import { GOOD_BODY, type ServerUnderTest, TRANSPORTS } from './server-under-test.ts'
import { until } from './until.ts'

/** Requests for this many pages of 30 KB, more than the system buffers for a caller that does not read. */
function largePages(server: ServerUnderTest, count: number): Buffer[] {
  return Array.from({ length: count }, () => server.write({ method: 'GET', target: '/openapi.json', body: '' }))
}

describe.each(TRANSPORTS)('a connection over $transport', ({ withServer }) => {
  it('carries many requests, answered in order although a later one is ready first', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      const held = server.intake.hold()
      connection.send(server.write())
      await held.reached
      connection.send(
        Buffer.concat([server.write({ target: '/nothing' }), server.write({ headers: { 'x-api-key': null } })]),
      )
      await until(() => server.counted.length === 2)
      held.release({ kind: 'refused', code: 'connection_not_found' })

      const replies = [await connection.nextReply(), await connection.nextReply(), await connection.nextReply()]

      assert.deepEqual(
        replies.map((reply) => reply?.status),
        [404, 404, 401],
      )
      assert.deepEqual(
        replies.map((reply) => codesOf(reply)[0]),
        ['connection_not_found', 'route_not_found', 'unauthorized'],
      )
    })
  })

  it('accepts 1,000 requests at once and passes them to storage in order', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      const bodies = Array.from({ length: 1000 }, (_, number) => GOOD_BODY.replace('Hello', `Hello ${number}`))
      connection.send(Buffer.concat(bodies.map((body) => server.write({ body }))))

      const ids: (string | undefined)[] = []
      for (const _ of bodies) ids.push((await connection.nextReply())?.headers['x-message-id'])

      assert.deepEqual(
        ids,
        bodies.map((_, number) => `message-${number + 1}`),
      )
      assert.deepEqual(
        server.intake.accepted.map(({ body }) => body),
        bodies,
      )
    })
  })

  it('G11: is closed if it sends far more requests at once than could be answered', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.hold()
      const connection = await server.connect()
      connection.send(server.write())
      await held.reached
      connection.send(`GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(1_000))

      assert.equal(await connection.untilClosed(), '')
      assert.ok(server.counted.length <= 500, `${server.counted.length} were answered`)
      assert.equal((await server.ask({ target: '/nothing' }))?.status, 404)
    })
  })

  it('G11: is closed if the caller does not read its replies', async () => {
    await withServer({ limits: { replyStallMs: 200 } }, async (server) => {
      const connection = await server.connect()
      connection.stopReading()
      connection.send(Buffer.concat(largePages(server, 300)))

      // An empty line has no effect, but sending it shows that the other side has closed.
      const poking = setInterval(() => connection.send('\r\n'), 20)
      await connection.untilClosed()
      clearInterval(poking)

      assert.equal((await server.ask())?.status, 200)
    })
  })

  it('may send a request byte by byte', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      for (const byte of server.write()) {
        connection.send(Buffer.from([byte]))
        await new Promise(setImmediate)
      }

      assert.equal((await connection.nextReply())?.status, 200)
    })
  })

  it('may be half-closed by the caller after its request: the answer still comes', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send(server.write())
      connection.endOurSide()

      assert.equal((await connection.nextReply())?.status, 200)
      assert.equal(await connection.untilClosed(), '')
    })
  })

  it('closes after the reply if the caller asks for that, or speaks HTTP/1.0', async () => {
    await withServer({}, async (server) => {
      for (const facts of [{ headers: { Connection: 'close' } }, { version: 'HTTP/1.0', headers: { Host: null } }]) {
        const connection = await server.connect()
        connection.send(server.write(facts))

        assert.equal((await connection.nextReply())?.status, 200)
        assert.equal(await connection.untilClosed(), '')
      }
    })
  })

  it('stays usable after a refusal whose small body was not read', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send(server.write({ headers: { 'x-api-key': null } }))
      const refusal = await connection.nextReply()
      connection.send(server.write())

      assert.equal(refusal?.status, 401)
      assert.equal(refusal?.headers['connection'], 'keep-alive')
      assert.equal((await connection.nextReply())?.status, 200)
    })
  })

  it('is refused beyond the number that may be open', async () => {
    await withServer({ limits: { maxConnections: 2 } }, async (server) => {
      const first = await server.connect()
      await server.connect()
      const third = await server.connect()

      assert.equal(await third.untilClosed(), '')
      assert.equal(server.dropped, 1)
      first.send(server.write())
      assert.equal((await first.nextReply())?.status, 200)
    })
  })

  it('is kept for seconds when idle, then ended', async () => {
    await withServer({ limits: { keepAliveMs: 100 } }, async (server) => {
      const connection = await server.connect()
      connection.send(server.write())

      assert.equal((await connection.nextReply())?.status, 200)
      assert.equal(await connection.untilClosed(), '')
    })
  })
})

describe.each(TRANSPORTS)('a caller over $transport', ({ withServer }) => {
  it('that disconnects in the middle leaves a line in the API log', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send(server.write().subarray(0, -1))
      await until(() => server.intake.lookUps === 1)
      connection.close()

      await until(() => server.intake.refused.length === 1)
      assert.match(server.intake.refused[0]!.errors, /malformed_request/)
    })
  })
})

describe.each(TRANSPORTS)('garbage after a good request over $transport', ({ withServer }) => {
  it('does not prevent its answer, and is refused after it', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send(Buffer.concat([server.write(), Buffer.from('garbage\r\n\r\n')]))

      const replies = [await connection.nextReply(), await connection.nextReply()]

      assert.deepEqual(
        replies.map((reply) => reply?.status),
        [200, 400],
      )
      assert.equal(await connection.untilClosed(), '')
    })
  })

  it('is not answered if the good request announced to be the last', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send(Buffer.concat([server.write({ headers: { Connection: 'close' } }), server.write()]))

      assert.equal((await connection.nextReply())?.status, 200)
      assert.equal(await connection.untilClosed(), '')
      assert.equal(server.intake.accepted.length, 1)
    })
  })

  it('in a body that was refused unread closes the connection without a second answer', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      const headers = { 'x-api-key': null, 'Content-Length': null, 'Transfer-Encoding': 'chunked' }
      connection.send(server.write({ headers, body: 'garbage\r\n' }))

      assert.equal((await connection.nextReply())?.status, 401)
      assert.equal(await connection.untilClosed(), '')
    })
  })
})

describe.each(TRANSPORTS)('a caller that asks before it sends the body over $transport', ({ withServer }) => {
  const expecting = { Expect: '100-continue' }

  it('continues after its token has been checked', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send(server.write({ headers: { ...expecting, 'Content-Length': String(GOOD_BODY.length) }, body: '' }))
      const goOn = await connection.nextReply()
      connection.send(GOOD_BODY)

      assert.equal(goOn?.status, 100)
      assert.equal((await connection.nextReply())?.status, 200)
    })
  })

  it.each([
    ['a bad token', { headers: { ...expecting, 'x-api-key': 'nco_' } }, 401],
    ['a bad path', { headers: expecting, target: '/nothing' }, 404],
    ['a body that is too large', { headers: { ...expecting, 'Content-Length': '65537' } }, 400],
  ])('is refused for %s without being asked for the body', async (_, facts, status) => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send(server.write({ ...facts, body: '' }))

      const reply = await connection.nextReply()

      assert.equal(reply?.status, status)
      assert.equal(reply?.headers['connection'], 'close')
      assert.equal(await connection.untilClosed(), '')
    })
  })

  it('is ignored in HTTP/1.0, which has no such mechanism', async () => {
    await withServer({}, async (server) => {
      assert.equal((await server.ask({ version: 'HTTP/1.0', headers: expecting }))?.status, 200)
    })
  })
})

describe.each(TRANSPORTS)('closing over $transport', ({ withServer }) => {
  it('lets an open request end, announces the close, and accepts no more', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      const idle = await server.connect()
      const held = server.intake.hold()
      connection.send(server.write())
      await held.reached

      const closed = server.server.close()
      await idle.untilClosed()
      held.release({ kind: 'refused', code: 'connection_not_found' })
      const reply = await connection.nextReply()
      await closed

      assert.equal(reply?.status, 404)
      assert.equal(reply?.headers['connection'], 'close')
      await assert.rejects(server.connect())
    })
  })

  it('answers all requests of a connection before it ends it', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      const held = server.intake.hold()
      connection.send(Buffer.concat([server.write(), server.write()]))
      await held.reached

      const closed = server.server.close()
      held.release({ kind: 'refused', code: 'connection_not_found' })
      const replies = [await connection.nextReply(), await connection.nextReply()]
      await closed

      assert.deepEqual(
        replies.map((reply) => [reply?.status, reply?.headers['connection']]),
        [
          [404, 'keep-alive'],
          [404, 'close'],
        ],
      )
    })
  })

  it('cuts off requests that take too long, and may be done twice', async () => {
    await withServer({ limits: { closeGraceMs: 100 } }, async (server) => {
      const connection = await server.connect()
      const held = server.intake.hold()
      connection.send(server.write())
      await held.reached

      await Promise.all([server.server.close(), server.server.close()])

      assert.equal(await connection.untilClosed(), '')
    })
  })
})
