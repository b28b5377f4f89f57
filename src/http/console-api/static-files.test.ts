import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, it } from 'vitest'
import { ConsoleWorld } from '../../../test/support/console-world/console-world.ts'

const PAGE =
  '<meta nonce="__NONCE__"><style nonce="__NONCE__"></style><script src="/console/assets/main-1a2b.js"></script>'
const SCRIPT = 'console.log("nuncio")'

let world: ConsoleWorld
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nuncio-pages-'))
  return () => rm(folder, { recursive: true })
})

async function open(publicUrl = 'http://127.0.0.1:8080') {
  world = new ConsoleWorld()
  return world.openConsole('SQLite', { console: { pagesFolder: folder }, http: { publicUrl } })
}

async function build() {
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), PAGE)
  await writeFile(join(folder, 'icon.svg'), '<svg/>')
  await writeFile(join(folder, 'assets/main-1a2b.js'), SCRIPT)
  await writeFile(join(folder, 'assets/main-1a2b.js.gz'), gzipSync(SCRIPT))
}

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(world.url + path, { headers, redirect: 'manual' })
  return { status: response.status, text: await response.text(), header: (name: string) => response.headers.get(name) }
}

describe('the pages of the console', () => {
  it('are one page for every address, with a new nonce each time', async () => {
    await build()
    const close = await open()

    const [first, second] = [await get('/console/'), await get('/console/a/account-1/developer/tokens?tab=active')]
    await close()

    const [, nonce = ''] = /style-src 'self' 'nonce-([^']+)'/.exec(first.header('content-security-policy') ?? '') ?? []
    assert.equal(first.status, 200)
    assert.match(nonce, /^[\w+/=]{24}$/)
    assert.equal(first.text, PAGE.replace('="/console', '="../console').replaceAll('__NONCE__', nonce))
    assert.notEqual(second.text, first.text)
    assert.equal(first.header('content-type'), 'text/html; charset=utf-8')
  })

  it('may load only what we serve, cannot be framed, and are never cached', async () => {
    await build()
    const close = await open()

    const { header } = await get('/console/')
    await close()

    const policy = header('content-security-policy')?.replace(/nonce-[^']+/, 'nonce-X')
    assert.deepEqual(policy?.split('; '), [
      `default-src 'none'`,
      `script-src 'self'`,
      `style-src 'self' 'nonce-X'`,
      `img-src 'self' data: blob:`,
      `font-src 'self'`,
      `connect-src 'self'`,
      `media-src 'self'`,
      `form-action 'self'`,
      `base-uri 'none'`,
      `frame-ancestors 'none'`,
      `require-trusted-types-for 'script'`,
    ])
    assert.equal(header('cache-control'), 'no-store')
    assert.equal(header('x-content-type-options'), 'nosniff')
    assert.equal(header('referrer-policy'), 'no-referrer')
    assert.equal(header('cross-origin-resource-policy'), 'same-origin')
    assert.equal(header('strict-transport-security'), null)
    assert.equal(header('server'), null)
  })

  it('require https if the public URL has it', async () => {
    await build()
    const close = await open('https://console.example')

    const { header } = await get('/console/')
    await close()

    assert.equal(header('strict-transport-security'), 'max-age=31536000; includeSubDomains')
    assert.equal(header('cross-origin-opener-policy'), 'same-origin')
  })

  it('have cacheable files, sent precompressed', async () => {
    await build()
    const close = await open()

    const plain = await get('/console/assets/main-1a2b.js', { 'accept-encoding': 'identity' })
    const packed = await get('/console/assets/main-1a2b.js', { 'accept-encoding': 'gzip' })
    const icon = await get('/console/icon.svg')
    await close()

    assert.deepEqual([plain.text, packed.text, packed.header('content-encoding')], [SCRIPT, SCRIPT, 'gzip'])
    assert.equal(plain.header('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal(plain.header('x-content-type-options'), 'nosniff')
    assert.match(plain.header('content-type') ?? '', /javascript/)
    assert.match(icon.header('content-type') ?? '', /svg/)
  })

  it('are found from the root', async () => {
    const close = await open()

    const answers = [await get('/'), await get('/console')]
    await close()

    for (const { status, header } of answers) assert.deepEqual([status, header('location')], [302, '/console/'])
  })

  it('are found below the path of the public URL, whether a proxy passes it on or not', async () => {
    await build()
    const close = await open('http://127.0.0.1:8080/nuncio')

    const homes = [await get('/nuncio'), await get('/nuncio/'), await get('/nuncio/console'), await get('/')]
    const pages = [await get('/nuncio/console/a/account-1/developer/tokens'), await get('/console/a/account-1')]
    const answer = await get('/nuncio/console/api/me')
    await close()

    for (const { status, header } of homes) assert.deepEqual([status, header('location')], [302, '/nuncio/console/'])
    assert.deepEqual(
      pages.map(({ text }) => /src="([^"]+)"/.exec(text)?.[1]),
      ['../../../../console/assets/main-1a2b.js', '../../console/assets/main-1a2b.js'],
    )
    assert.equal(answer.status, 401)
  })

  it('are not served in place of a missing file or reply', async () => {
    await build()
    const close = await open()

    const file = await get('/console/assets/gone.js')
    const outside = await get('/console/assets/..%2findex.html')
    const answer = await get('/console/api/gone')
    await close()

    assert.deepEqual([file.status, outside.status, answer.status], [404, 404, 404])
    assert.match(answer.text, /console_route_unknown/)
  })

  it('say in one sentence that they are not built', async () => {
    const close = await open()

    const { status, text } = await get('/console/')
    await close()

    assert.deepEqual(
      [status, text],
      [503, 'The pages of the console are missing. Install Nuncio again; in a clone, `npm start` builds them.\n'],
    )
  })
})
