import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import { StorageUnavailable } from '../../../src/core/ports/lanes.ts'
import { createToken } from '../../../src/core/token/token-format.ts'
import { codesOf, envelopeOf } from './raw-connection.ts'
import { GOOD_BODY, withServer } from './server-under-test.ts'
import { until } from './until.ts'

const STRANGER = createToken(randomBytes)
const CHUNKED = { 'Content-Length': null, 'Transfer-Encoding': 'chunked' }
const LONGEST_BODY = GOOD_BODY.padEnd(65_536, ' ')

function chunked(body: string): string {
  return `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
}

describe('a token that storage has to look up', () => {
  it.each([
    ['in one piece', {}, [GOOD_BODY]],
    ['in two pieces', {}, [GOOD_BODY.slice(0, 40), GOOD_BODY.slice(40)]],
    ['in chunks', CHUNKED, [chunked(GOOD_BODY)]],
    ['as long as it may be', { 'Content-Length': '65536' }, [LONGEST_BODY]],
  ])('is waited for, and the body that came meanwhile is taken: %s', async (_, headers, pieces) => {
    await withServer({}, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      const length = { 'Content-Length': String(GOOD_BODY.length), ...headers }
      connection.send(server.write({ headers: length, body: '' }))
      await until(() => server.intake.lookUps === 1)
      for (const piece of pieces) connection.send(piece)
      assert.deepEqual(server.counted, [])
      held.release()

      assert.equal((await connection.nextReply())?.status, 200)
      assert.deepEqual(
        server.intake.accepted.map(({ body }) => body.trimEnd()),
        [GOOD_BODY],
      )
    })
  })

  it('is refused if unknown, without reading the body and without a line in the API log', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      const headers = { Expect: '100-continue', 'x-api-key': STRANGER, 'Content-Length': String(GOOD_BODY.length) }
      connection.send(server.write({ headers, body: '' }))
      await until(() => server.intake.lookUps === 1)
      held.release()

      const reply = await connection.nextReply()

      assert.equal(reply?.status, 401)
      assert.deepEqual(codesOf(reply), ['unauthorized'])
      assert.deepEqual(server.intake.refused, [])
    })
  })

  it('is looked up before a caller with Expect may send the body', async () => {
    await withServer({}, async (server) => {
      server.intake.answerLookUpsLater()
      const connection = await server.connect()
      const headers = { Expect: '100-continue', 'Content-Length': String(GOOD_BODY.length) }
      connection.send(server.write({ headers, body: '' }))
      const goOn = await connection.nextReply()
      connection.send(GOOD_BODY)

      assert.equal(goOn?.status, 100)
      assert.equal((await connection.nextReply())?.status, 200)
    })
  })

  it.each([
    ['long', LONGEST_BODY, 300],
    ['short', GOOD_BODY, 10_000],
  ])(
    'holds back what its caller sends on, so that strangers cannot fill the memory: %s bodies',
    async (_, body, count) => {
      await withServer({}, async (server) => {
        const held = server.intake.holdLookUps()
        const connection = await server.connect()
        const request = server.write({ headers: { 'x-api-key': STRANGER }, body })
        connection.send(Buffer.concat(Array.from({ length: count }, () => request)))
        await until(() => server.intake.lookUps > 0)
        // Long enough for the server to read the rest, if it did.
        for (let asked = 0; asked < 50; asked++) await server.ask({ target: '/nothing' })
        const takenBytes = server.intake.lookUps * request.length
        held.release()
        for (let answered = 0; answered < count; answered++) assert.equal((await connection.nextReply())?.status, 401)

        // One read brings 64 KB.
        assert.ok(takenBytes < 256 * 1024, `${takenBytes} of ${count * request.length} bytes were taken`)
        assert.equal(server.intake.lookUps, count)
      })
    },
  )
})

describe('storage that cannot look up a token', () => {
  it.each([false, true])('is reported as safe to send again: unknown %s', async (isUnknown) => {
    await withServer({}, async (server) => {
      server.intake.holdLookUps().fail(new StorageUnavailable('secret', isUnknown))
      const connection = await server.connect()
      connection.send(server.write())
      const reply = await connection.nextReply()
      server.intake.lookUpsWaitFor = null
      connection.send(server.write())

      assert.equal(reply?.status, 503)
      assert.deepEqual(codesOf(reply), ['not_accepted'])
      assert.equal(reply?.headers['retry-after'], '5')
      assert.deepEqual([server.faults, server.intake.refused], [[], []])
      assert.equal((await connection.nextReply())?.status, 200)
    })
  })

  it('is given up in time if it does not answer, and a late answer changes nothing', async () => {
    await withServer({ limits: { storageWaitMs: 100 } }, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      connection.send(server.write())
      const began = performance.now()
      const reply = await connection.nextReply()
      const tookMs = performance.now() - began
      held.release()
      connection.send(server.write())

      assert.equal(reply?.status, 503)
      assert.deepEqual(codesOf(reply), ['not_accepted'])
      // Less than the 5 s for headers, the shortest timeout of the requests themselves, which would end this one, too.
      assert.ok(tookMs >= 95 && tookMs < 4_800, `${tookMs} ms`)
      assert.equal((await connection.nextReply())?.status, 200)
      assert.deepEqual([server.intake.accepted.length, server.intake.refused.length], [1, 0])
      assert.deepEqual(server.counted, ['503 not_accepted', '200 accepted'])
    })
  })

  it('for another reason is a fault, which is logged once and reveals nothing in the reply', async () => {
    await withServer({}, async (server) => {
      server.intake.holdLookUps().fail(new Error('no such table: secret'))

      const reply = await server.ask()

      assert.equal(reply?.status, 500)
      assert.equal(envelopeOf(reply).name, 'internal_error_500')
      assert.doesNotMatch(reply?.text ?? '', /secret/)
      assert.equal(server.faults.length, 1)
    })
  })
})

describe('a caller whose token is being looked up', () => {
  const SHORT_TIMES = { headersTimeoutMs: 1_500, requestTimeoutMs: 1_500, checkIntervalMs: 50 }

  it('may disconnect: an incomplete request is refused, and in the API log', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      connection.send(server.write().subarray(0, -1))
      await until(() => server.intake.lookUps === 1)
      connection.close()
      held.release()

      await until(() => server.intake.refused.length === 1)
      const { errors, facts } = server.intake.refused[0]!
      assert.match(errors, /malformed_request/)
      assert.equal(facts.remoteAddress, '127.0.0.1')
      assert.deepEqual([server.intake.accepted, server.faults], [[], []])
      assert.equal((await server.ask())?.status, 200)
    })
  })

  it('may disconnect: a complete request is accepted, as after a later disconnect', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      connection.send(server.write())
      await until(() => server.intake.lookUps === 1)
      connection.close()
      held.release()

      await until(() => server.intake.accepted.length === 1)
      assert.deepEqual(server.faults, [])
      assert.equal((await server.ask())?.status, 200)
    })
  })

  it('is refused if the server has cut its connection, and is in the API log', async () => {
    await withServer({ limits: { closeGraceMs: 50 } }, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      connection.send(server.write())
      await until(() => server.intake.lookUps === 1)
      await server.server.close()
      // Node notifies the request a turn or two after its connection.
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
      held.release()

      await until(() => server.intake.refused.length === 1)
      const { errors, facts } = server.intake.refused[0]!
      assert.match(errors, /malformed_request/)
      // Its address is kept, although the closed connection no longer has it.
      assert.equal(facts.remoteAddress, '127.0.0.1')
      assert.deepEqual([server.intake.accepted, server.faults], [[], []])
    })
  })

  it.each([
    ['known', null, 1],
    ['unknown', STRANGER, 0],
  ])(
    'and a request that is too slow meanwhile is refused; the API log has it if the token is %s',
    async (_, token, logged) => {
      await withServer({ limits: SHORT_TIMES }, async (server) => {
        const held = server.intake.holdLookUps()
        const connection = await server.connect()
        const headers = token === null ? {} : { 'x-api-key': token }
        connection.send(server.write({ headers }).subarray(0, -1))
        // This connection came later and is as slow. When it has timed out, the first one has, too.
        const other = await server.connect()
        other.send('POST')
        await other.nextReply()
        held.release()

        const reply = await connection.nextReply()

        assert.equal(reply?.status, 408)
        assert.deepEqual(codesOf(reply), ['request_too_slow'])
        assert.equal(await connection.untilClosed(), '')
        assert.equal(server.intake.refused.length, logged)
      })
    },
  )

  it('gets the error of its next request only after the answer to the first', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      connection.send(Buffer.concat([server.write(), Buffer.from('garbage\r\n\r\n')]))
      await until(() => server.intake.lookUps === 1)
      held.release()

      const replies = [await connection.nextReply(), await connection.nextReply()]

      assert.deepEqual(
        replies.map((reply) => reply?.status),
        [200, 400],
      )
      assert.equal(await connection.untilClosed(), '')
    })
  })

  it('may have sent garbage as a body: it is refused for that after its token was found', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      connection.send(server.write({ headers: CHUNKED, body: 'garbage\r\n' }))
      await until(() => server.intake.lookUps === 1)
      held.release()

      const reply = await connection.nextReply()

      assert.equal(reply?.status, 400)
      assert.deepEqual(codesOf(reply), ['malformed_request'])
      assert.equal(await connection.untilClosed(), '')
      assert.equal(server.intake.refused.length, 1)
    })
  })

  it('has its requests accepted and answered in order, including those that need no look-up', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      const bodies = Array.from({ length: 1000 }, (_, number) => GOOD_BODY.replace('Hello', `Hello ${number}`))
      const requests = bodies.flatMap((body) => [
        server.write({ body }),
        server.write({ headers: { 'x-api-key': null } }),
      ])
      connection.send(Buffer.concat(requests))
      await until(() => server.intake.lookUps > 0)
      held.release()

      const statuses = []
      for (const _ of requests) statuses.push((await connection.nextReply())?.status)

      assert.deepEqual(
        statuses,
        requests.map((_, place) => (place % 2 === 0 ? 200 : 401)),
      )
      assert.deepEqual(
        server.intake.accepted.map(({ body }) => body),
        bodies,
      )
    })
  })

  it('is answered while the server closes', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.holdLookUps()
      const connection = await server.connect()
      connection.send(server.write())
      await until(() => server.intake.lookUps === 1)

      const closed = server.server.close()
      held.release()
      const reply = await connection.nextReply()
      await closed

      assert.equal(reply?.status, 200)
      assert.equal(reply?.headers['connection'], 'close')
    })
  })
})
