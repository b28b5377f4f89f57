import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { HttpServerDeps } from '../../../src/http/server/http-server-deps.ts'
import { makeDocsFolder } from './docs-folder.ts'
import { GOOD_BODY, PATH, type ServerUnderTest, withServer } from './server-under-test.ts'

const LINKS = '<h1>Home</h1><link href="/docs/assets/a-1.css"><a href="/docs/">Home</a><a href="/console/">Console</a>'

const folder = makeDocsFolder({
  '/docs/': LINKS,
  '/docs/guides/tokens': LINKS.repeat(20),
  '/docs/404': LINKS.repeat(20),
  '/docs/assets/a-1.css': 'a{}',
})

function below(path: string, run: (server: ServerUnderTest) => Promise<void>): Promise<void> {
  const deps: Partial<HttpServerDeps> = { publicUrl: `https://send.example.com${path}`, docsFolder: folder }
  return withServer(deps, run)
}

async function get({ port }: ServerUnderTest, path: string) {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' })
  return { status: reply.status, location: reply.headers.get('location'), text: await reply.text() }
}

function linksOf(html: string): readonly string[] {
  return [...html.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link)
}

describe('a service whose public URL has a path', () => {
  it.each([
    ['/health/live', 200],
    ['/health/ready', 200],
    ['/metrics', 200],
    ['/openapi.json', 200],
    ['/docs/', 200],
    ['/docs/gone', 404],
    ['/docs/assets/a-1.css?v=1', 200],
    [PATH, 404],
  ])('answers GET %s below it and without it', async (path, expected) => {
    await below('/tools/nuncio', async (server) => {
      const statuses = [await get(server, `/tools/nuncio${path}`), await get(server, path)].map(({ status }) => status)

      assert.deepEqual(statuses, [expected, expected])
    })
  })

  it('accepts messages below it and without it', async () => {
    await below('/nuncio', async (server) => {
      const replies = [await server.ask({ target: `/nuncio${PATH}` }), await server.ask({ body: GOOD_BODY })]

      assert.deepEqual(
        replies.map((reply) => reply?.status),
        [200, 200],
      )
    })
  })

  it.each(['/nunciox/health/live', '/Nuncio/health/live', '/nuncio/nuncio/health/live', '/nuncio//health/live'])(
    'has nothing at %s',
    async (path) => {
      await below('/nuncio', async (server) => assert.equal((await get(server, path)).status, 404))
    },
  )

  it.each([
    ['/nuncio/docs', '/nuncio/docs/'],
    ['/nuncio/docs/guides/tokens.md', '/nuncio/docs/guides/tokens'],
    // A proxy stripped the path, and the browser needs it.
    ['/docs/guides/tokens/', '/nuncio/docs/guides/tokens'],
  ])('leads from %s to %s', async (from, to) => {
    await below('/nuncio', async (server) => assert.equal((await get(server, from)).location, to))
  })

  it.each(['http://a/nuncio/health/live', 'http://a/health/live', 'HTTPS://a:1/nuncio/health/live'])(
    'answers a request whose target is %s, as it is sent to a proxy',
    async (target) => {
      await below('/nuncio', async (server) => {
        const connection = await server.connect()
        connection.send(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)

        assert.match(await connection.untilClosed(), /^HTTP\/1\.1 200 /)
      })
    },
  )

  it('shows it in the description of its API', async () => {
    await below('/nuncio', async (server) => {
      const { servers } = JSON.parse((await get(server, '/nuncio/openapi.json')).text) as { servers: { url: string }[] }

      assert.equal(servers[0]?.url, 'https://send.example.com/nuncio')
    })
  })

  it('accepts as many headers for its pages as without it', async () => {
    await below('/nuncio', async (server) => {
      const reply = await fetch(`http://127.0.0.1:${server.port}/nuncio/docs/`, {
        headers: { cookie: 'a'.repeat(10_000) },
      })

      assert.equal(reply.status, 200)
    })
  })
})

describe('the documents', () => {
  it('answer a path of thousands of parts like any other missing path', async () => {
    await below('', async (server) => {
      const sizes = [await get(server, '/docs/gone'), await get(server, `/docs/${'/'.repeat(15_000)}a`)].map(
        ({ status, text }) => [status, text.length] as const,
      )

      assert.deepEqual(
        sizes.map(([status]) => status),
        [404, 404],
      )
      assert.ok((sizes[1]?.[1] ?? 0) < 3 * (sizes[0]?.[1] ?? 0), JSON.stringify(sizes))
    })
  })

  it.each(['/docs/', '/docs/guides/tokens', '/docs/gone', '/docs/guides/gone/further'])(
    'at %s link to each other below any path',
    async (path) => {
      await below('', async (server) => {
        const links = linksOf((await get(server, path)).text)

        assert.deepEqual(
          new Set(links.map((link) => new URL(link, `https://send.example.com/tools/nuncio${path}`).pathname)),
          new Set(['/tools/nuncio/docs/assets/a-1.css', '/tools/nuncio/docs/', '/tools/nuncio/console/']),
        )
      })
    },
  )
})
