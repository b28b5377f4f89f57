import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parseAddressRange } from '../../../src/core/media-address/ip-address.ts'
import type { HttpServerDeps } from '../../../src/http/server/http-server-deps.ts'
import { codesOf } from './raw-connection.ts'
import { type HeaderLines, type ServerUnderTest, withServer } from './server-under-test.ts'

function get(server: ServerUnderTest, target: string, headers: HeaderLines = {}) {
  return server.ask({
    method: 'GET',
    target,
    headers: { 'x-api-key': null, 'Content-Type': null, 'Content-Length': null, ...headers },
    body: '',
  })
}

describe('health', () => {
  it('is live as long as it answers, and ready when everything works', async () => {
    await withServer({}, async (server) => {
      const live = await get(server, '/health/live')
      const ready = await get(server, '/health/ready')

      assert.deepEqual([live?.status, live?.text], [200, '{"status":"live"}'])
      assert.deepEqual([ready?.status, ready?.text], [200, '{"status":"ready"}'])
      assert.ok(live?.headers['x-request-id'])
    })
  })

  it('is not ready while something fails or while it stops, but still live', async () => {
    await withServer({}, async (server) => {
      server.problems = ['storage']
      const troubled = await get(server, '/health/ready')
      server.isAccepting = false
      const stopping = await get(server, '/health/ready')
      const live = await get(server, '/health/live')

      assert.deepEqual([troubled?.status, troubled?.text], [503, '{"status":"not_ready","problems":["storage"]}'])
      assert.deepEqual([stopping?.status, stopping?.text], [503, '{"status":"not_ready","problems":["shutting_down"]}'])
      assert.equal(live?.status, 200)
    })
  })

  it('that cannot be determined is a fault', async () => {
    await withServer({ readinessProblems: () => Promise.reject(new Error('secret')) }, async (server) => {
      const reply = await get(server, '/health/ready')

      assert.equal(reply?.status, 500)
      assert.deepEqual(codesOf(reply), ['internal_error'])
      assert.doesNotMatch(reply?.text ?? '', /secret/)
      assert.equal(server.faults.length, 1)
    })
  })
})

describe('metrics', () => {
  const SECRET = 'a-secret-of-the-operator'
  // A test cannot use this address, so this machine is an ordinary caller.
  const FAR = parseAddressRange('203.0.113.0/24')!

  function metrics(readers: Partial<HttpServerDeps['metrics']> = {}): Partial<HttpServerDeps> {
    return {
      metrics: {
        contentType: 'text/plain; version=0.0.4',
        text: async () => 'up 1\n',
        allowed: [],
        bearerSecret: null,
        ...readers,
      },
    }
  }

  it('are shown on this machine', async () => {
    await withServer(metrics(), async (server) => {
      const reply = await get(server, '/metrics')

      assert.deepEqual([reply?.status, reply?.text], [200, 'up 1\n'])
      assert.equal(reply?.headers['content-type'], 'text/plain; version=0.0.4')
    })
  })

  it.each<[string, HeaderLines]>([
    ['X-Forwarded-For', { 'X-Forwarded-For': '127.0.0.1' }],
    ['Forwarded', { Forwarded: 'for=127.0.0.1' }],
    ['X-Real-IP', { 'X-Real-IP': '127.0.0.1' }],
    ['Via', { Via: '1.1 proxy' }],
  ])('are not shown to requests through a proxy on this machine: %s', async (_, headers) => {
    await withServer({ ...metrics(), trustedProxies: [parseAddressRange('127.0.0.1')!] }, async (server) => {
      const reply = await get(server, '/metrics', headers)

      assert.equal(reply?.status, 403)
      assert.deepEqual(codesOf(reply), ['metrics_not_allowed'])
    })
  })

  it('are shown to addresses in the settings, and to requests with the secret', async () => {
    const viaProxy = { 'X-Forwarded-For': '198.51.100.1' }
    await withServer(metrics({ allowed: [parseAddressRange('127.0.0.0/8')!] }), async (server) => {
      assert.equal((await get(server, '/metrics', viaProxy))?.status, 200)
    })
    await withServer(metrics({ bearerSecret: SECRET, allowed: [FAR] }), async (server) => {
      const answers: readonly [HeaderLines, number][] = [
        [{ Authorization: `Bearer ${SECRET}` }, 200],
        [{ Authorization: `bearer  ${SECRET}` }, 200],
        [{ Authorization: `Bearer ${SECRET}x` }, 403],
        [{ Authorization: `Bearer ${SECRET.slice(1)}` }, 403],
        [{ Authorization: SECRET }, 403],
        [{ Authorization: '' }, 403],
        [{ Authorization: [`Bearer ${SECRET}`, `Bearer ${SECRET}`] }, 403],
        [{}, 403],
      ]
      for (const [headers, status] of answers) {
        assert.equal((await get(server, '/metrics', { ...viaProxy, ...headers }))?.status, status)
      }
    })
  })
})

describe('the description of the API', () => {
  it('is public, under the public address', async () => {
    await withServer({}, async (server) => {
      const reply = await get(server, '/openapi.json')

      assert.equal(reply?.status, 200)
      const { openapi, servers } = JSON.parse(reply?.text ?? '')
      assert.equal(openapi, '3.1.0')
      assert.equal(servers[0].url, 'https://send.example.com')
    })
  })

  it('answers HEAD requests', async () => {
    await withServer({}, async (server) => {
      const connection = await server.connect()
      connection.send('HEAD /openapi.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

      const answer = await connection.untilClosed()

      assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
      assert.ok(answer.endsWith('\r\n\r\n'))
    })
  })
})

describe('a process that accepts no messages', () => {
  it('is live, and has neither the endpoint nor its description', async () => {
    await withServer({ intake: null }, async (server) => {
      const replies = [await get(server, '/health/live'), await server.ask(), await get(server, '/openapi.json')]

      assert.deepEqual(
        replies.map((reply) => reply?.status),
        [200, 404, 404],
      )
      assert.deepEqual(codesOf(replies[1]!), ['route_not_found'])
    })
  })
})
