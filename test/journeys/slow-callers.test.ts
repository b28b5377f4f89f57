import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { codesOf } from '../contract/raw-http/raw-connection.ts'
import { TRANSPORTS } from '../contract/raw-http/server-under-test.ts'

const SHORT_TIMES = { headersTimeoutMs: 1_500, requestTimeoutMs: 2_000, checkIntervalMs: 50 }
const PAGES = 300

describe.each(TRANSPORTS)('a slow caller over $transport', ({ withServer }) => {
  it.each([
    ['with nothing', ''],
    ['in the headers', 'POST /chat/api/v1/public/message/send HTTP/1.1\r\nHost: a\r\n'],
  ])('gets an answer that says so, and is cut off: %s', async (_, bytes) => {
    await withServer({ limits: SHORT_TIMES }, async (server) => {
      const connection = await server.connect()
      connection.send(bytes)

      const reply = await connection.nextReply()

      assert.equal(reply?.status, 408)
      assert.deepEqual(codesOf(reply), ['request_too_slow'])
      assert.equal(await connection.untilClosed(), '')
    })
  })

  it('that stalls in the body gets an answer that says so, is disconnected, and is in the API log', async () => {
    await withServer({ limits: SHORT_TIMES }, async (server) => {
      const connection = await server.connect()
      connection.send(server.write().subarray(0, -1))

      const reply = await connection.nextReply()

      assert.equal(reply?.status, 408)
      assert.deepEqual(codesOf(reply), ['request_too_slow'])
      assert.equal(await connection.untilClosed(), '')
      assert.deepEqual(
        server.intake.refused.map(({ status, body }) => ({ status, body })),
        [{ status: 408, body: null }],
      )
    })
  })

  it('whose body is complete only while it is being refused has sent nothing', async () => {
    await withServer({ limits: SHORT_TIMES }, async (server) => {
      const refusing = Promise.withResolvers<void>()
      const logged = Promise.withResolvers<boolean>()
      server.intake.logRefused = () => {
        refusing.resolve()
        return logged.promise
      }
      const connection = await server.connect()
      const request = server.write()
      connection.send(request.subarray(0, -1))
      await refusing.promise
      connection.send(request.subarray(-1))
      // When another request has been answered, the last byte of the first has been read.
      await server.ask({ headers: { 'x-api-key': null } })
      logged.resolve(true)

      assert.equal((await connection.nextReply())?.status, 408)
      assert.deepEqual(server.intake.accepted, [])
    })
  })

  it('may read slowly', async () => {
    // Reading the whole page takes longer than the limit.
    await withServer({ limits: { replyStallMs: 4_000 } }, async (server) => {
      const connection = await server.connect()
      // More bytes than the system buffers for a caller that does not read.
      const page = server.write({ method: 'GET', target: '/openapi.json', body: '' })
      connection.send(Buffer.concat(Array.from({ length: PAGES }, () => page)))

      for (let taken = 0; taken < PAGES; taken++) {
        assert.equal((await connection.nextReply())?.status, 200)
        connection.stopReading()
        await new Promise((resolve) => setTimeout(resolve, 20))
        connection.readOn()
      }
    })
  })
})
