import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parseAddressRange } from '../../../src/core/media-address/ip-address.ts'
import { GOOD_BODY, TRANSPORTS } from './server-under-test.ts'

describe.each(TRANSPORTS)('limits per caller: a connection over $transport', ({ withServer }) => {
  it('G8: is refused beyond what one caller may have, and leaves room for others', async () => {
    await withServer({ limits: { maxConnections: 4, maxConnectionsOfCaller: 2 } }, async (server) => {
      const [first, second] = [await server.connect(), await server.connect()]
      const third = await server.connect()
      const ofAnother = await server.connect('127.0.0.2')

      assert.equal(await third.untilClosed(), '')
      assert.equal(server.dropped, 1)
      for (const connection of [first, second, ofAnother]) {
        connection.send(server.write())
        assert.equal((await connection.nextReply())?.status, 200)
      }

      first.close()
      while ((await server.ask())?.status !== 200);
    })
  })

  it('does not count for one caller if it comes from a trusted proxy', async () => {
    const trustedProxies = [parseAddressRange('127.0.0.1')!]
    await withServer({ trustedProxies, limits: { maxConnectionsOfCaller: 1 } }, async (server) => {
      await server.connect()

      assert.equal((await server.ask())?.status, 200)
      assert.equal(server.dropped, 0)
    })
  })

  it('G11: may send only a few large bodies at once, and the next when these are answered', async () => {
    await withServer({}, async (server) => {
      const held = server.intake.hold()
      const { answer } = server.intake
      let asked = 0
      server.intake.answer = (candidate) => {
        asked += 1
        return answer!(candidate)
      }
      const connection = await server.connect()
      const large = server.write({ body: JSON.stringify({ ...JSON.parse(GOOD_BODY), more: 'x'.repeat(60_000) }) })
      for (let i = 0; i < 90; i++) connection.send(large)
      await held.reached
      // Once it is answered, everything that came before has been processed.
      for (let i = 0; i < 20; i++) assert.equal((await server.ask({ target: '/nothing' }))?.status, 404)

      assert.ok(asked <= 4, `${asked} wait for storage`)
      held.release({ kind: 'refused', code: 'connection_not_found' })
      for (let i = 0; i < 90; i++) assert.ok(await connection.nextReply())
    })
  })
})
