import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId } from '../../../src/core/ids.ts'
import type { CallbackReceiver, CallbackRequest } from '../../../src/core/ports/callbacks.ts'
import { StorageUnavailable } from '../../../src/core/ports/lanes.ts'
import type { HttpLimits } from '../../../src/http/server/http-limits.ts'
import { type ServerUnderTest, withServer } from '../../contract/raw-http/server-under-test.ts'
import {
  addressOf,
  type CallbackWorld,
  type CloudSender,
  openWorlds,
  status,
  withCallbacks,
} from '../../support/callback-world/callback-world.ts'

const verification = (sender: CloudSender, more: Readonly<Record<string, string>> = {}) => ({
  'hub.mode': 'subscribe',
  'hub.challenge': '1158201444',
  'hub.verify_token': sender.verifyToken,
  ...more,
})

async function verify({ server }: CallbackWorld, { callbackApp }: CloudSender, query: string | Record<string, string>) {
  const text = typeof query === 'string' ? query : new URLSearchParams(query).toString()
  const target = `${addressOf(callbackApp)}?${text}`
  const reply = await server.ask({
    method: 'GET',
    target,
    headers: { 'x-api-key': null, 'Content-Length': null },
    body: '',
  })
  return [reply?.status, reply?.text, reply?.headers['content-type']]
}

describe.each(openWorlds())('a callback URL, on %s', (_, newWorld) => {
  it('is verified with the token of any connection that uses it', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const plain = 'text/plain; charset=utf-8'

      const right = await verify(world, sender, verification(sender))
      const wrong = await Promise.all(
        [
          verification(sender, { 'hub.verify_token': `${sender.verifyToken} ` }),
          verification(sender, { 'hub.verify_token': '' }),
          verification(sender, { 'hub.mode': 'unsubscribe' }),
          verification(sender, { 'hub.challenge': '<script>alert(1)</script>' }),
          verification(sender, { 'hub.challenge': '1'.repeat(300) }),
          `${new URLSearchParams(verification(sender))}&hub.verify_token=other`,
          '',
        ].map((query) => verify(world, sender, query)),
      )

      assert.deepEqual(right, [200, '1158201444', plain])
      for (const [code, text] of wrong) {
        assert.equal(code, 403)
        assert.doesNotMatch(String(text), /script|verify-token/)
      }
    })
  })

  it('believes a changed secret at once, and no longer the old one', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const body = world.body(sender, { id: 'wamid.A', status: 'sent' })
      const changed = { ...sender, appSecret: 'the new secret of the app' }
      const before = await world.post(sender, body)

      await world.changeSecret(sender, changed.appSecret)
      await world.storage.clock.pass(1_500)
      const after = await world.post(changed, body)
      await world.storage.clock.pass(11_000)
      const old = await world.post(sender, body)

      assert.deepEqual([before?.status, after?.status, old?.status], [200, 200, 401])
    })
  })

  it('accepts reports about a removed number while another number of the app can verify them', async () => {
    await withCallbacks(newWorld, async (world) => {
      const stays = await world.addSender()
      const goes = await world.addSender({ beside: stays })
      const id = await world.publish(goes, 'wamid.A')
      await world.storage.administration.removeConnection(goes.connectionId, false, 'test')
      world.applier.start(world.events)

      await world.tell(stays, { id: 'wamid.B', status: 'sent' })
      const body = world.body(goes, status('delivered', id, 'wamid.A'))
      const verified = await world.post(stays, body)
      await world.applied()
      await world.storage.administration.removeConnection(stays.connectionId, false, 'test')
      await world.storage.clock.pass(11_000)
      const alone = await world.post(stays, body)

      assert.deepEqual([verified?.status, alone?.status], [200, 404])
      assert.equal(await world.stateOf(id), 'DELIVERED')
    })
  })

  it('distinguishes two numbers of one app', async () => {
    await withCallbacks(newWorld, async (world) => {
      const one = await world.addSender()
      const other = await world.addSender({ beside: one })
      const [first, second] = [await world.publish(one, 'wamid.1'), await world.publish(other, 'wamid.2')]
      world.applier.start(world.events)

      // First each status names the other number, then each its own.
      await world.tell(one, status('read', second, 'wamid.2'))
      await world.tell(other, status('read', first, 'wamid.1'))
      await world.applied()
      const crossed = [await world.stateOf(first), await world.stateOf(second)]
      await world.tell(one, status('read', first, 'wamid.1'))
      await world.tell(other, status('read', second, 'wamid.2'))
      await world.applied()

      assert.deepEqual(crossed, ['PUBLISHED', 'PUBLISHED'])
      assert.deepEqual([await world.stateOf(first), await world.stateOf(second)], ['READ', 'READ'])
    })
  })
})

describe('the routes for callbacks', () => {
  const body = '{}'

  it('allow two methods, and say so', async () => {
    await withStub({}, async (server) => {
      for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const connection = await server.connect()
        connection.send(server.write({ method, target: '/channels/stub/app', body: '' }))
        const reply = await connection.nextReply()

        assert.equal(reply?.status, 405, method)
        assert.equal(reply?.headers['allow'], 'GET, POST')
        assert.ok(reply?.headers['x-request-id'])
        connection.close()
      }
    })
  })

  it('have nothing at the paths of other channels, nor below their own', async () => {
    await withStub({}, async (server) => {
      for (const target of ['/channels/other/app', '/channels/stub', '/channels/stub/a/b'])
        assert.equal((await server.ask({ target, body }))?.status, 404, target)
    })
  })

  it('answer 503 while the service stops, and when nothing can be stored', async () => {
    let thrown: Error = new StorageUnavailable('the disk is full', false)
    await withStub({ receive: () => Promise.reject(thrown) }, async (server) => {
      const full = await server.ask({ target: '/channels/stub/app', body })
      thrown = new Error('a fault with a secret in it')
      const fault = await server.ask({ target: '/channels/stub/app', body })
      server.stopAccepting()
      const closing = await server.ask({ target: '/channels/stub/app', body })

      assert.deepEqual([full?.status, fault?.status, closing?.status], [503, 500, 503])
      assert.doesNotMatch(`${full?.text}${fault?.text}`, /disk|secret/)
      assert.deepEqual([server.counted, server.faults.length], [['503 callback', '500 callback', '503 callback'], 1])
    })
  })

  it('do not wait for storage for ever', async () => {
    await withStub({ receive: () => new Promise(() => {}) }, async (server) => {
      assert.equal((await server.ask({ target: '/channels/stub/app', body }))?.status, 503)
    })
  })

  it('pass on every byte, and only those headers that came once', async () => {
    const seen: unknown[] = []
    const receive = async ({ body: bytes, headers, query, callbackApp, method }: CallbackRequest) => {
      seen.push([method, callbackApp, query.get('a'), headers['x-one'], headers['x-two'], Buffer.from(bytes)])
      return { status: 200, body: 'thanks' }
    }
    const bytes = Buffer.from([0, 0xff, 0x0d, 0x0a, 0xc3])
    await withStub({ receive }, async (server) => {
      const headers = { 'X-One': 'one', 'X-Two': ['a', 'b'] }
      const reply = await server.ask({ target: '/channels/stub/app?a=%20b', headers, body: bytes })

      assert.deepEqual([reply?.status, reply?.text], [200, 'thanks'])
      assert.deepEqual(seen, [['POST', 'app', ' b', 'one', undefined, bytes]])
    })
  })

  it('end a request whose body does not come to its end', async () => {
    const limits = { requestTimeoutMs: 300, headersTimeoutMs: 200, checkIntervalMs: 50 }
    await withStub({ limits }, async (server) => {
      const connection = await server.connect()
      connection.send(server.write({ target: '/channels/stub/app', headers: { 'Content-Length': '100' }, body: '{' }))
      const reply = await connection.nextReply()

      assert.equal(reply?.status, 408)
      assert.equal(await connection.untilClosed(), '')
    })
  })

  it('return 404 in a process that takes no callbacks', async () => {
    await withServer({}, async (server) => {
      assert.equal((await server.ask({ target: '/channels/stub/app', body }))?.status, 404)
    })
  })
})

interface Stub extends Partial<Pick<CallbackReceiver, 'receive'>> {
  readonly limits?: Partial<HttpLimits>
}

/** A server with a channel that answers what the test wants. */
async function withStub(stub: Stub, test: (server: ServerUnderTest) => Promise<void>): Promise<void> {
  const receiver: CallbackReceiver = {
    channel: 'stub',
    maxBodyBytes: 1_000,
    checkHead: async () => ({ refusal: null, owner: 'account' as AccountId }),
    receive: stub.receive ?? (async () => ({ status: 200, body: '' })),
  }
  await withServer({ callbacks: [receiver], limits: { storageWaitMs: 300, ...stub.limits } }, test)
}
