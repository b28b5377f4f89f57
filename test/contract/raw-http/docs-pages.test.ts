import assert from 'node:assert/strict'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { describe, it } from 'vitest'
import type { HttpServerDeps } from '../../../src/http/server/http-server-deps.ts'
import { HTML, makeDocsFolder } from './docs-folder.ts'
import { type ServerUnderTest, withServer } from './server-under-test.ts'

const LONG = `<h1>Tokens</h1>${'<p>A token.</p>'.repeat(200)}`
const STYLE = '/docs/assets/style-abc123.css'

const folder = makeDocsFolder({
  '/docs/': '<h1>Home</h1>',
  '/docs/guides/tokens': LONG,
  '/docs/404': '<h1>Not there</h1>',
  [STYLE]: 'a{}',
  '/docs/assets/a-1.svg': '<svg/>',
})

async function ask(server: ServerUnderTest, path: string, init: RequestInit = {}) {
  // `fetch` would undo the compression, which is tested here.
  const headers = { 'accept-encoding': 'identity', ...init.headers }
  const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, { redirect: 'manual', ...init, headers })
  return { status: reply.status, headers: reply.headers, text: await reply.text() }
}

function withDocs(run: (server: ServerUnderTest) => Promise<void>, deps: Partial<HttpServerDeps> = {}) {
  return withServer({ docsFolder: folder, ...deps }, run)
}

describe('the documents', () => {
  it('are public, with a policy that allows only our own files', async () => {
    await withDocs(async (server) => {
      const { status, headers, text } = await ask(server, '/docs/guides/tokens?from=search')

      assert.equal(status, 200)
      assert.equal(text, LONG)
      assert.equal(headers.get('content-type'), HTML)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.ok(headers.get('x-request-id'))
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
      assert.doesNotMatch(policy, /unsafe|https?:|\*|data:/)
    })
  })

  it('are revalidated each time, and files with a hash in their names never', async () => {
    await withDocs(async (server) => {
      const page = await ask(server, '/docs/')
      const again = await ask(server, '/docs/', { headers: { 'if-none-match': page.headers.get('etag') ?? '' } })
      const other = await ask(server, '/docs/', { headers: { 'if-none-match': 'W/"other"' } })
      const style = await ask(server, STYLE)

      assert.equal(page.headers.get('cache-control'), 'no-cache')
      assert.deepEqual([again.status, again.text, other.status], [304, '', 200])
      assert.match(style.headers.get('cache-control') ?? '', /immutable/)
    })
  })

  it.each([
    ['br', 'br', (body: Buffer) => brotliDecompressSync(body)],
    ['gzip, br', 'br', (body: Buffer) => brotliDecompressSync(body)],
    ['br;q=0, gzip', undefined, (body: Buffer) => body],
    ['identity', undefined, (body: Buffer) => body],
  ] as const)('are sent as was compressed beforehand: %s', async (accepted, encoding, open) => {
    await withDocs(async (server) => {
      const connection = await server.connect()
      connection.send(
        `GET /docs/guides/tokens HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${accepted}\r\nConnection: close\r\n\r\n`,
      )
      const answer = Buffer.from(await connection.untilClosed(), 'latin1')
      const head = answer.subarray(0, answer.indexOf('\r\n\r\n')).toString('latin1')

      assert.equal(/content-encoding: (\S+)/.exec(head)?.[1], encoding)
      assert.match(head, /vary: accept-encoding/)
      assert.equal(open(answer.subarray(answer.indexOf('\r\n\r\n') + 4)).toString(), LONG)
    })
  })

  it.each(['/docs/gone', '/docs/guides', '/docs/assets/gone.js', '/docs/..%2fsite.json', '/docs/site.json'])(
    'say on a page of their own that there is no %s',
    async (path) => {
      await withDocs(async (server) => {
        const { status, headers, text } = await ask(server, path)

        assert.equal(status, 404)
        assert.equal(headers.get('content-type'), HTML)
        assert.match(text, /Not there/)
      })
    },
  )

  it.each([
    ['/docs', '/docs/'],
    ['/docs/guides/tokens/', '/docs/guides/tokens'],
    ['/docs/guides/tokens.md', '/docs/guides/tokens'],
  ])('lead from %s to %s', async (from, to) => {
    await withDocs(async (server) => {
      const { status, headers } = await ask(server, from)

      assert.deepEqual([status, headers.get('location')], [308, to])
    })
  })

  it('cannot be written to', async () => {
    await withDocs(async (server) => {
      for (const method of ['POST', 'PUT', 'DELETE'])
        assert.equal((await ask(server, '/docs/', { method })).status, 404)
    })
  })

  it('answer HEAD requests', async () => {
    await withDocs(async (server) => {
      const { status, headers, text } = await ask(server, '/docs/guides/tokens', { method: 'HEAD' })

      assert.deepEqual([status, headers.get('content-length'), text], [200, String(LONG.length), ''])
    })
  })

  it('that are pictures may run nothing when opened on their own', async () => {
    await withDocs(async (server) => {
      const { headers } = await ask(server, '/docs/assets/a-1.svg')

      assert.equal(headers.get('content-security-policy'), `default-src 'none'; sandbox`)
    })
  })

  it('that have not been built say how to build them', async () => {
    await withDocs(
      async (server) => {
        const { status, text } = await ask(server, '/docs/')

        assert.equal(status, 503)
        assert.match(text, /npm start/)
      },
      { docsFolder: join(folder, 'gone') },
    )
  })

  it('return 404 in a process that only dispatches', async () => {
    await withDocs(async (server) => assert.equal((await ask(server, '/docs/')).status, 404), { intake: null })
  })
})
