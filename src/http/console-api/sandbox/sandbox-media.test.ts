import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify, { type FastifyInstance } from 'fastify'
import { beforeEach, describe, it, vi } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { tinyPng } from '../../../../test/support/journey/serve-files.ts'
import { sandboxRoutes } from '../../../contract/console/sandbox.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { OpenCopy } from '../../../core/ports/console/sandbox.ts'
import { Refusal } from '../../../core/refusals.ts'
import { openCopy } from '../../../media/open-copy.ts'
import { createInboxViews } from '../../../storage/queries/inbox/inbox.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountRequest } from '../request-context.ts'
import { sandboxHandlers } from './sandbox-handlers.ts'

// See open-replies.ts.
const PREVIEWS_OF_PERSON = 100
// Only for what never ends.
const NEVER_ENDS_MS = 120_000

const MESSAGE = '0199aaaa-0000-7000-8000-000000000001'
const OTHER = '0199aaaa-0000-7000-8000-000000000002'

const text = (words: string) => Buffer.from(words)
const box = (type: string, content: Buffer) => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length + 8)
  return Buffer.concat([length, text(type), content])
}
const MP4 = box('ftyp', Buffer.concat([text('isom'), Buffer.alloc(4), text('isomavc1')]))
const OGG = Buffer.concat([text('OggS'), Buffer.alloc(22), Buffer.from([1, 0x1e]), text('OpusHead')])
const WAV = Buffer.concat([text('RIFF$'), Buffer.alloc(3), text('WAVEfmt '), Buffer.alloc(16)])

let world: AdministrationWorld
let folder: string
let app: FastifyInstance
let owner: AccountId
let connectionId: ConnectionId

describe.each(ENGINES)('a file that the sandbox delivered, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    folder = mkdtempSync(join(tmpdir(), 'nuncio-copies-'))
    owner = await world.account()
    connectionId = await world.connection(owner)
    app = serveTo(() => owner)
    return async () => {
      await app.close()
      rmSync(folder, { recursive: true, force: true })
      await close()
    }
  })

  it.each([
    ['a picture', 'a.png', tinyPng(), 'image/png', true],
    ['a picture that calls itself a page', 'a.html', tinyPng(), 'image/png', true],
    ['a page that calls itself a picture', 'a.png', text('<!doctype html><script>alert(1)</script>'), null, false],
    ['a drawing that may hold scripts', 'a.svg', text('<svg xmlns="http://www.w3.org/2000/svg"></svg>'), null, false],
    ['a PDF', 'a.pdf', text('%PDF-1.7\n'), null, false],
    ['a film', 'a.mp4', MP4, 'video/mp4', true],
    ['a recording', 'a.ogg', OGG, 'audio/ogg', true],
    ['a WAV', 'a.wav', WAV, 'audio/wav', true],
    ['a program', 'a.exe', text('MZ\x90\0\x03'), null, false],
    ['a program that calls itself a picture', 'a.png', text('MZ\x90\0\x03'), null, false],
    ['nothing at all', 'a.png', Buffer.alloc(0), null, false],
  ])('%s is shown or saved by what it is', async (...[, name, bytes, mime, isShown]) => {
    await deliver(MESSAGE, name, bytes)

    const { statusCode, headers, rawPayload } = await app.inject(pathOf(MESSAGE))

    assert.equal(statusCode, 200)
    assert.equal(headers['content-type'], mime ?? 'application/octet-stream')
    const [way] = String(headers['content-disposition']).split(';')
    assert.equal(way, isShown ? 'inline' : 'attachment')
    assert.equal(headers['content-security-policy'], `sandbox; default-src 'none'`)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.deepEqual(rawPayload, bytes)
  })

  it('has the name that it was sent under, made safe', async () => {
    await deliver(MESSAGE, 'räk"ning\r\n; ..‮gpj.exe', text('MZ'))

    const { headers } = await app.inject(pathOf(MESSAGE))

    assert.equal(
      headers['content-disposition'],
      `attachment; filename="r_k_ning_ ..gpj.exe"; filename*=UTF-8''r%C3%A4k%22ning%3B%20..gpj.exe`,
    )
  })

  it.each([
    ['bytes=0-3', 206, 'bytes 0-3/100', 4],
    ['bytes=90-', 206, 'bytes 90-99/100', 10],
    ['bytes=-5', 206, 'bytes 95-99/100', 5],
    ['bytes=-500', 206, 'bytes 0-99/100', 100],
    ['bytes=10-1000', 206, 'bytes 10-99/100', 90],
    ['bytes=100-', 416, 'bytes */100', 0],
    ['bytes=-0', 416, 'bytes */100', 0],
    ['bytes=5-2', 200, undefined, 100],
    ['bytes=0-1,5-6', 200, undefined, 100],
    ['lines=1-2', 200, undefined, 100],
  ])('gives the part %s to players', async (...[range, status, contentRange, length]) => {
    const bytes = Buffer.concat([OGG, Buffer.alloc(100 - OGG.length, 7)])
    await deliver(MESSAGE, 'a.ogg', bytes)

    const { statusCode, headers, rawPayload } = await app.inject({ url: pathOf(MESSAGE), headers: { range } })

    assert.equal(statusCode, status)
    assert.equal(headers['content-range'], contentRange)
    assert.equal(headers['accept-ranges'], 'bytes')
    assert.equal(rawPayload.length, length)
    const from = Number(/^bytes (\d+)/.exec(contentRange ?? '')?.[1] ?? 0)
    assert.deepEqual(rawPayload, status === 416 ? Buffer.alloc(0) : bytes.subarray(from, from + length))
  })

  it('is answered to another account like an unknown id', async () => {
    await deliver(MESSAGE, 'a.png', tinyPng())
    const stranger = await world.account('Other')
    const theirs = await world.connection(stranger)
    const asStranger = serveTo(() => stranger)

    const foreign = await asStranger.inject(pathOf(MESSAGE))
    const unknown = await asStranger.inject(`/unknown/media/${MESSAGE}`)
    const inTheirs = await asStranger.inject(`/${theirs}/media/${MESSAGE}`)

    assert.deepEqual([foreign.statusCode, foreign.json()], [404, { code: 'delivery_unknown' }])
    assert.deepEqual(unknown.json(), foreign.json())
    assert.deepEqual(inTheirs.json(), foreign.json())
    await asStranger.close()
  })

  it('is reported as gone when its copy was deleted, and never serves another file of this machine', async () => {
    await deliver(MESSAGE, 'a.png', tinyPng())
    await deliver(OTHER, 'b.png', tinyPng())
    rmSync(join(folder, MESSAGE))
    rmSync(join(folder, OTHER))
    symlinkSync('/', join(folder, OTHER))

    assert.deepEqual((await app.inject(pathOf(MESSAGE))).json(), { code: 'copy_gone' })
    assert.deepEqual((await app.inject(pathOf(OTHER))).json(), { code: 'copy_gone' })
  })

  it('takes no place of others once its callers have left, even before it was opened', async () => {
    await deliver(MESSAGE, 'a.png', tinyPng())
    const [gate, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const sockets: Socket[] = []
    let [asked, gone, open] = [0, 0, 0]
    const server = serveTo(
      () => owner,
      async (copy) => {
        if (++asked > PREVIEWS_OF_PERSON) return copy
        if (asked === PREVIEWS_OF_PERSON) for (const socket of sockets) socket.destroy()
        open += 1
        await gate.promise
        return (
          copy && {
            ...copy,
            read: (from, to) => copy.read(from, to),
            close: () => copy.close().then(() => void open--),
          }
        )
      },
    )
    server.server.on('connection', (socket) =>
      socket.once('close', () => ++gone === PREVIEWS_OF_PERSON && left.resolve()),
    )
    await server.listen({ port: 0, host: '127.0.0.1' })
    const { port } = server.server.address() as AddressInfo
    for (let at = 0; at < PREVIEWS_OF_PERSON; at++) {
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET ${pathOf(MESSAGE)} HTTP/1.1\r\nhost: a\r\n\r\n`)
      sockets.push(socket)
    }

    await left.promise
    gate.resolve()

    await vi.waitUntil(() => open === 0, { timeout: NEVER_ENDS_MS })
    assert.equal((await server.inject(pathOf(MESSAGE))).statusCode, 200)
    await server.close()
  })

  it.each(['../../etc/passwd', '..', '.', 'a/b', MESSAGE.toUpperCase(), `${MESSAGE}\0`, ''])(
    'is not read from the disk as %j, even if something had been delivered as that',
    async (id) => {
      await deliver(id, 'a.png', null)

      const { statusCode } = await app.inject(pathOf(encodeURIComponent(id)))

      assert.ok(statusCode === 400 || statusCode === 404, String(statusCode))
      assert.equal(await openCopy(folder, id as never), null)
    },
  )
})

/** What becomes of an opened copy. */
type Opened = (copy: OpenCopy | null) => Promise<OpenCopy | null>

/** The handler with the console's hooks before and after it, simplified. */
function serveTo(account: () => AccountId, opened: Opened = async (copy) => copy): FastifyInstance {
  const deps = {
    store: { inbox: createInboxViews(world.store) },
    sandbox: {
      commands: [],
      openCopy: async (id: string) => opened(await openCopy(folder, id as never)),
      markRead: async () => {},
      removeCopy: async () => {},
    },
  } as unknown as ConsoleDeps
  const handlers = sandboxHandlers(deps)
  const server = fastify()
  server.setErrorHandler((error, _, reply) =>
    reply
      .code(error instanceof Refusal ? 404 : 500)
      .send({ code: error instanceof Refusal ? error.code : String(error) }),
  )
  server.get('/:connection/media/:message', async (request, reply) => {
    const { params } = sandboxRoutes.readSandboxMedia
    const read = params.safeParse({ account: account(), ...(request.params as object) })
    if (!read.success) return reply.code(400).send({})
    const context = { accountId: account(), request, reply } as unknown as AccountRequest
    await handlers.readSandboxMedia({ params: read.data, query: {}, body: {} }, context)
    return reply
  })
  return server
}

function pathOf(id: string): string {
  return `/${connectionId}/media/${id}`
}

async function deliver(id: string, name: string, bytes: Buffer | null): Promise<void> {
  const plain = { text: null, caption: null, sizeBytes: 1, sha256: null, mime: 'image/png', path: '/etc/passwd' }
  await world.deliver(connectionId, `${id.replace('\0', '')}#1`, {
    to: '15550100101',
    type: 'document',
    name,
    ...plain,
  })
  if (bytes) writeFileSync(join(folder, id), bytes)
}
