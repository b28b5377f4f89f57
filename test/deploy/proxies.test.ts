import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { describe, it, onTestFinished, vi } from 'vitest'
import { findFreePort } from '../support/black-box/free-port.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { makeCertificate } from '../support/media-world/certificates.ts'

vi.setConfig({ testTimeout: 60_000 })

const FOLDER = join(import.meta.dirname, '../../deploy/proxy')
const NAME = 'send.example.org'
const CERTIFICATE = makeCertificate({ names: [NAME] })

interface Place {
  readonly folder: string
  readonly port: number
  readonly plainPort: number
  readonly backend: number
}

interface Proxy {
  readonly program: string
  /** Writes our file, with ports and certificates of the test, and says how the program is called. */
  readonly prepare: (place: Place) => { readonly check: readonly string[]; readonly run: readonly string[] }
}

const PROXIES: readonly Proxy[] = [
  {
    program: 'nginx',
    prepare({ folder, port, plainPort, backend }) {
      const site = readFileSync(join(FOLDER, 'nginx.conf'), 'utf8')
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
    prepare({ folder, port, plainPort, backend }) {
      const text = readFileSync(join(FOLDER, 'haproxy.cfg'), 'utf8')
        .replace('bind :80', `bind 127.0.0.1:${plainPort}`)
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replace('127.0.0.1:8080', `127.0.0.1:${backend}`)
        .replace(`/etc/haproxy/certs/${NAME}.pem`, join(folder, 'both.pem'))
      writeFileSync(join(folder, 'haproxy.cfg'), text)
      return { check: ['-c', '-f', join(folder, 'haproxy.cfg')], run: ['-db', '-f', join(folder, 'haproxy.cfg')] }
    },
  },
]

describe.each(PROXIES)('$program in front, by our file', ({ program, prepare }) => {
  const path = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin']
    .map((folder) => join(folder, program))
    .find((file) => spawnSync(file, ['-v']).status === 0)
  const note = path ? '' : ` (skipped: ${program} is not installed)`

  it.skipIf(!path)(`keeps who asked, passes on what matters, gathers nothing and hides /metrics${note}`, async () => {
    const seen: IncomingMessage[] = []
    const backend = await startBackend(seen)
    const place = { folder: temporaryFolder(), port: await findFreePort(), plainPort: await findFreePort(), backend }
    writeCertificates(place.folder)
    const { check, run } = prepare(place)
    const checked = spawnSync(path ?? '', [...check], { encoding: 'utf8' })
    assert.equal(checked.status, 0, checked.stderr + checked.stdout)
    await start(path ?? '', run, place.port)

    const reply = await ask(place.port, '/chat/api/v1/public/message/send', {
      'x-forwarded-for': '203.0.113.9',
      'idempotency-key': 'k',
      origin: `https://${NAME}`,
    })
    const metrics = await ask(place.port, '/metrics', {})
    const live = await ask(place.port, '/live', {})

    assert.deepEqual([reply.status, metrics.status], [200, 404])
    const { headers } = seen.find(({ url }) => url?.endsWith('send')) ?? {}
    // Whatever a stranger wrote stands to the left of what the proxy knows.
    const forwarded = seen.find(({ url }) => url?.endsWith('send'))?.headersDistinct['x-forwarded-for']?.join(', ')
    assert.match(forwarded ?? '', /(^|, )127\.0\.0\.1$/)
    assert.equal(headers?.host, NAME)
    assert.equal(headers?.['idempotency-key'], 'k')
    assert.equal(headers?.origin, `https://${NAME}`)
    assert.equal(reply.headers['x-message-id'], 'message-1')
    // The backend never ends this one.
    assert.equal(live.firstBytes, 'data: 1\n\n')
    assert.equal(
      seen.some(({ url }) => url === '/metrics'),
      false,
    )
    const plain = await fetch(`http://127.0.0.1:${place.plainPort}/console/`, { redirect: 'manual' })
    assert.equal(plain.status, 308)
  })
})

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

async function startBackend(seen: IncomingMessage[]): Promise<number> {
  const server: Server = createServer((asked, reply) => {
    seen.push(asked)
    if (asked.url === '/live') {
      reply.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
      reply.write('data: 1\n\n')
    } else reply.writeHead(200, { 'x-message-id': 'message-1' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

async function start(path: string, parameters: readonly string[], port: number): Promise<void> {
  const child: ChildProcess = spawn(path, [...parameters], { stdio: 'ignore' })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    if (child.exitCode === null && child.kill('SIGTERM')) await ended
  })
  const answers = async () => (await ask(port, '/health/ready', {}).catch(() => null))?.status === 200 || null
  await waitUntil('the proxy answers', answers, { deadlineMs: 20_000, everyMs: 50 })
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly firstBytes: string
}

/** The first bytes of the answer: of a live page there is no last one. */
function ask(port: number, path: string, headers: Record<string, string>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        host: '127.0.0.1',
        port,
        path,
        servername: NAME,
        ca: CERTIFICATE.cert,
        agent: false,
        headers: { host: NAME, ...headers },
      },
      (response) => {
        const answer = { status: response.statusCode ?? 0, headers: response.headers }
        response.once('data', (bytes: Buffer) => {
          resolve({ ...answer, firstBytes: String(bytes) })
          asking.destroy()
        })
        response.once('end', () => resolve({ ...answer, firstBytes: '' }))
      },
    )
    asking.on('error', reject).end()
  })
}
