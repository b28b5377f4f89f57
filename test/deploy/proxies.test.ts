import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import { findFreePort } from '../support/black-box/free-port.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { ENDPOINT, SENDER, startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { makeCertificate } from '../support/media-world/certificates.ts'

const FOLDER = join(import.meta.dirname, '../../deploy/proxy')
const NAME = 'send.example.org'
const LIVE = '/live'
// The backend closes the connection in the middle of this reply.
const CUT = '/cut'
const CERTIFICATE = makeCertificate({ names: [NAME] })
const TO_PROXY = { host: '127.0.0.1', servername: NAME, ca: CERTIFICATE.cert, agent: false } as const

interface Place {
  readonly folder: string
  readonly port: number
  readonly plainPort: number
  readonly backend: number
  /** The text of our file, as this test uses it. */
  readonly text: string
}

interface Proxy {
  readonly program: string
  readonly file: string
  /** The changes that the comments in our file describe for a service below a path. */
  readonly belowPath: readonly (readonly [string, string])[]
  /** Writes our file with the ports and certificates of the test. Returns the commands that check and run the program. */
  readonly prepare: (place: Place) => { readonly check: readonly string[]; readonly run: readonly string[] }
}

const PROXIES: readonly Proxy[] = [
  {
    program: 'nginx',
    file: 'nginx.conf',
    belowPath: [
      ['location = /metrics {', 'location = /nuncio/metrics {'],
      ['location / {', 'location /nuncio/ {'],
    ],
    prepare({ folder, port, plainPort, backend, text }) {
      const site = text
        .replaceAll(/listen \[::\].*\n/g, '\n')
        .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
        .replace('listen 80', `listen 127.0.0.1:${plainPort}`)
        .replace('127.0.0.1:8080', `127.0.0.1:${backend}`)
        .replaceAll(`/etc/letsencrypt/live/${NAME}`, folder)
      writeFileSync(join(folder, 'site.conf'), site)
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (kind) => `${kind}_temp_path ${folder}/${kind};`,
      )
      writeFileSync(
        join(folder, 'whole.conf'),
        `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log; events {}
         http { access_log off; ${temporary.join(' ')} include ${folder}/site.conf; }`,
      )
      const how = ['-p', folder, '-c', join(folder, 'whole.conf'), '-e', join(folder, 'error.log')]
      return { check: ['-t', ...how], run: how }
    },
  },
  {
    program: 'haproxy',
    file: 'haproxy.cfg',
    belowPath: [
      ['{ path,url_dec /metrics }', '{ path,url_dec /nuncio/metrics }'],
      ['    default_backend nuncio', '    use_backend nuncio if { path /nuncio } or { path_beg /nuncio/ }'],
    ],
    prepare({ folder, port, plainPort, backend, text }) {
      const config = text
        .replace('bind :80', `bind 127.0.0.1:${plainPort}`)
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replace('127.0.0.1:8080', `127.0.0.1:${backend}`)
        .replace(`/etc/haproxy/certs/${NAME}.pem`, join(folder, 'both.pem'))
      writeFileSync(join(folder, 'haproxy.cfg'), config)
      return { check: ['-c', '-f', join(folder, 'haproxy.cfg')], run: ['-db', '-f', join(folder, 'haproxy.cfg')] }
    },
  },
  {
    program: 'caddy',
    file: 'Caddyfile',
    belowPath: [
      ['@metrics path /metrics', '@metrics path /nuncio/metrics'],
      ['reverse_proxy 127', 'reverse_proxy @ours 127'],
    ],
    prepare({ folder, port, plainPort, backend, text }) {
      const site = text
        .replace('127.0.0.1:8080', `127.0.0.1:${backend}`)
        .replace(`${NAME} {`, `${NAME} {\n\tbind 127.0.0.1\n\ttls ${folder}/fullchain.pem ${folder}/privkey.pem`)
      const file = join(folder, 'Caddyfile')
      const ports = `http_port ${plainPort}\n\thttps_port ${port}`
      writeFileSync(file, `{\n\tadmin off\n\tstorage file_system ${folder}/storage\n\t${ports}\n}\n${site}`)
      const how = ['--adapter', 'caddyfile', '--config', file]
      return { check: ['validate', ...how], run: ['run', ...how] }
    },
  },
]

describe.each(PROXIES)('$program in front, with our file', (proxy) => {
  const { program } = proxy
  const path = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin']
    .map((folder) => join(folder, program))
    .find(existsSync)
  const note = path ? '' : ` (skipped: ${program} is not installed)`

  it.skipIf(!path)(
    `passes on the caller’s address and the headers, buffers nothing, and hides /metrics${note}`,
    async () => {
      const { backend, place } = await putInFront({ ...proxy, path: path ?? '' })

      const reply = await ask(place.port, '/chat/api/v1/public/message/send', {
        'x-forwarded-for': '203.0.113.9',
        'idempotency-key': 'k',
        origin: `https://${NAME}`,
      })
      const metrics = await ask(place.port, '/metrics', {})
      const encoded = await ask(place.port, '/%6Detrics', {})

      assert.deepEqual([reply.status, metrics.status, encoded.status], [200, 404, 404])
      const { headers, headersDistinct } = backend.asked('/chat/api/v1/public/message/send')[0] ?? {}
      // Values that a caller made up come before the address that the proxy adds.
      assert.match(headersDistinct?.['x-forwarded-for']?.join(', ') ?? '', /(^|, )127\.0\.0\.1$/)
      assert.equal(headers?.host, NAME)
      assert.equal(headers?.['idempotency-key'], 'k')
      assert.equal(headers?.origin, `https://${NAME}`)
      assert.equal(reply.headers['x-message-id'], 'message-1')
      assert.equal(backend.asked('/metrics').length + backend.asked('/%6Detrics').length, 0)
      const plain = await fetch(`http://127.0.0.1:${place.plainPort}/console/`, { redirect: 'manual' })
      assert.equal(plain.status, 308)
    },
  )

  it.skipIf(!path)(`streams a live page, and closes it when its reader leaves${note}`, async () => {
    const { backend, place } = await putInFront({ ...proxy, path: path ?? '' })
    // The backend never ends this reply.
    const live = await ask(place.port, LIVE, {})
    assert.equal(live.firstBytes, 'data: 1\n\n')
    await waitUntil('the page is closed', async () => backend.asked(LIVE)[0]?.socket.destroyed || null, {
      deadlineMs: 20_000,
      everyMs: 20,
    })
  })

  it.skipIf(!path)(`sends no request twice if the service closes the connection${note}`, async () => {
    const { backend, place } = await putInFront({ ...proxy, path: path ?? '' })
    // Whether the message was accepted is unknown. Only the caller may repeat the request, with its key.
    const cut = await ask(place.port, CUT, { 'idempotency-key': 'k' })
    assert.equal(cut.status, 502)
    assert.equal(backend.asked(CUT).length, 1)
  })

  it.skipIf(!path)(`serves all of Nuncio below a path${note}`, async () => {
    const backend = await findFreePort()
    const nuncio = await startNuncio({
      settings: {
        NUNCIO_PORT: String(backend),
        NUNCIO_PUBLIC_URL: `https://${NAME}/nuncio`,
        NUNCIO_TRUSTED_PROXIES: '127.0.0.1',
      },
    })
    const { port, plainPort } = await startProxy({ ...proxy, path: path ?? '' }, { backend, belowPath: true })

    const home = await follow(port, '/nuncio')
    const pages = [
      home,
      await read(port, '/nuncio/console/a/acc_1/developer/tokens'),
      await read(port, '/nuncio/docs/guides/tokens'),
      await read(port, '/nuncio/docs/guides/gone'),
    ]
    const files = await Promise.all(pages.flatMap(filesOf).map((file) => read(port, file)))
    const others = [
      '/nuncio/health/ready',
      '/nuncio/console/api/me',
      '/nuncio/metrics',
      '/nuncio/%6Detrics',
      '/console/',
    ]
    const answers = await Promise.all(others.map((other) => read(port, other)))
    const message = { from: SENDER, to: '15551234567', message: { type: 'message', message: 'Hello' } }
    const sent = await read(port, `/nuncio${ENDPOINT}`, { token: nuncio.token, body: message })

    assert.equal(home.path, '/nuncio/console/')
    assert.deepEqual(
      pages.map(({ status }) => status),
      [200, 200, 200, 404],
    )
    assert.ok(files.length > 20)
    for (const { path: file, status, headers } of files) {
      assert.equal(status, 200, file)
      assert.match(headers['content-type'] ?? '', /javascript|css|svg/, file)
    }
    assert.deepEqual(
      answers.slice(0, 2).map(({ status }) => status),
      [200, 401],
    )
    // Nuncio adds an id to every answer, so these requests did not reach it.
    for (const { path: other, headers } of answers.slice(2)) assert.equal(headers['x-request-id'], undefined, other)
    assert.equal(sent.status, 200)
    const plain = await fetch(`http://127.0.0.1:${plainPort}/nuncio/console/`, { redirect: 'manual' })
    assert.equal(plain.status, 308)
  })
})

interface Backend {
  readonly port: number
  readonly asked: (url: string) => readonly IncomingMessage[]
}

type Installed = Proxy & { readonly path: string }

async function putInFront(proxy: Installed): Promise<{ readonly backend: Backend; readonly place: Place }> {
  const backend = await startBackend()
  return { backend, place: await startProxy(proxy, { backend: backend.port, belowPath: false }) }
}

async function startProxy(
  { path, file, belowPath: edits, prepare }: Installed,
  { backend, belowPath }: { readonly backend: number; readonly belowPath: boolean },
): Promise<Place> {
  let text = readFileSync(join(FOLDER, file), 'utf8')
  for (const [shipped, written] of belowPath ? edits : []) {
    assert.equal(text.split(shipped).length, 2, `${file} has one "${shipped}"`)
    text = text.replace(shipped, written)
  }
  const ports = { port: await findFreePort(), plainPort: await findFreePort(), backend }
  const place = { folder: temporaryFolder(), text, ...ports }
  writeCertificates(place.folder)
  const { check, run } = prepare(place)
  const checked = spawnSync(path, [...check], { encoding: 'utf8' })
  assert.equal(checked.status, 0, checked.stderr + checked.stdout)
  start(path, run, place)
  const ready = belowPath ? '/nuncio/health/ready' : '/health/ready'
  const answers = async () => (await read(place.port, ready).catch(() => null))?.status === 200 || null
  await waitUntil('the proxy answers', answers, { deadlineMs: 20_000, everyMs: 50 })
  return place
}

function writeCertificates(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const { cert, key } = CERTIFICATE
  for (const [name, text] of [
    ['fullchain.pem', cert],
    ['privkey.pem', key],
    ['both.pem', cert + key],
  ] as const)
    writeFileSync(join(folder, name), text)
}

async function startBackend(): Promise<Backend> {
  const seen: IncomingMessage[] = []
  const server: Server = createServer((asked, reply) => {
    seen.push(asked)
    if (asked.url === CUT) asked.socket.destroy()
    else if (asked.url === LIVE) {
      reply.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
      reply.write('data: 1\n\n')
      // The service does this too, but less often. HAProxy notices that the reader has left when it cannot pass something on.
      const beating = setInterval(() => reply.write(': beat\n\n'), 300)
      reply.once('close', () => clearInterval(beating))
    } else reply.writeHead(200, { 'x-message-id': 'message-1' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { port, asked: (wanted) => seen.filter(({ url }) => url === wanted) }
}

function start(path: string, parameters: readonly string[], { folder }: Place): void {
  // Caddy keeps its last configuration there.
  const env = { ...process.env, XDG_CONFIG_HOME: folder }
  const child: ChildProcess = spawn(path, [...parameters], { stdio: 'ignore', env })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    if (child.exitCode === null && child.kill('SIGTERM')) await ended
  })
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly firstBytes: string
}

/** The first bytes of the answer, because a live page never ends. */
function ask(port: number, path: string, headers: Record<string, string>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(
      { ...TO_PROXY, port, path, method: 'POST', headers: { host: NAME, ...headers } },
      (response) => {
        const answer = { status: response.statusCode ?? 0, headers: response.headers }
        response.once('data', (bytes: Buffer) => {
          resolve({ ...answer, firstBytes: String(bytes) })
          asking.destroy()
        })
        response.once('end', () => resolve({ ...answer, firstBytes: '' }))
      },
    )
    asking.on('error', reject).end('{}')
  })
}

interface WholeAnswer {
  readonly path: string
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

function read(
  port: number,
  path: string,
  post?: { readonly token: string; readonly body: object },
): Promise<WholeAnswer> {
  const method = post ? 'POST' : 'GET'
  const headers = { host: NAME, ...(post && { 'x-api-key': post.token, 'content-type': 'application/json' }) }
  return new Promise((resolve, reject) => {
    const asking = request({ ...TO_PROXY, port, path, method, headers }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.once('end', () => {
        const text = Buffer.concat(pieces).toString()
        resolve({ path, status: response.statusCode ?? 0, headers: response.headers, text })
      })
    })
    asking.on('error', reject).end(post && JSON.stringify(post.body))
  })
}

/** Follows redirects as a browser does. */
async function follow(port: number, path: string): Promise<WholeAnswer> {
  const answer = await read(port, path)
  const { location } = answer.headers
  return location === undefined ? answer : follow(port, new URL(location, `https://${NAME}${path}`).pathname)
}

/** The paths of everything that a page loads. */
function filesOf({ path, text }: WholeAnswer): readonly string[] {
  return [...text.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"/g)].map(
    ([, file = '']) => new URL(file, `https://${NAME}${path}`).pathname,
  )
}
