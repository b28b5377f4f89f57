import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../../test/support/journey/start-nuncio.ts'
import { openFile } from '../../../../test/support/whatsapp-web/media-reader.ts'
import { MediaServer } from '../../../../test/support/whatsapp-web/media-server.ts'
import type { MediaContent, MediaFile, MediaType } from '../../../core/message/message.ts'
import { createGuardedCall } from '../../../media/create-guarded-call.ts'
import { systemClock } from '../../../server/system-clock.ts'
import { type AttachmentParts, uploadAttachment } from './upload-attachment.ts'

const MIMES: Readonly<Record<MediaType, string>> = {
  image: 'image/jpeg',
  video: 'video/mp4',
  audio: 'audio/mpeg',
  document: 'application/pdf',
}
const UNREACHABLE = { hostname: '127.0.0.1:1', maxContentLengthBytes: Number.NaN }

describe('an attachment', () => {
  // Around the ends of a block, and longer than one read of the file.
  it.each([0, 1, 15, 16, 17, 200_000])('of %i bytes is uploaded so that a phone can open it', async (sizeBytes) => {
    const world = await openWorld()
    const bytes = randomBytes(sizeBytes)

    const { message } = await world.uploaded('document', bytes)

    const opened = openFile(message, (path) => world.server.download(path))
    assert.ok(opened?.bytes.equals(bytes))
  })

  it.each<MediaType>(['image', 'video', 'audio', 'document'])(
    'of the type %s is encrypted with keys for this type',
    async (type) => {
      const world = await openWorld()
      const bytes = randomBytes(1_000)

      const { message } = await world.uploaded(type, bytes)

      const opened = openFile(message, (path) => world.server.download(path))
      assert.ok(opened?.bytes.equals(bytes))
      assert.deepEqual([opened?.type, opened?.attachment.mimetype, world.server.uploads], [type, MIMES[type], [type]])
    },
  )

  it('carries its name and its caption', async () => {
    const world = await openWorld()

    const [document, image, audio] = [
      await world.uploaded('document', Buffer.from('text')),
      await world.uploaded('image', Buffer.from('no picture')),
      await world.uploaded('audio', Buffer.from('no sound'), { caption: null }),
    ]

    const { fileName, title, caption } = document.message['documentMessage'] ?? {}
    assert.deepEqual([fileName, title, caption], ['file.bin', 'file.bin', 'See this'])
    assert.equal(image.message['imageMessage']?.['caption'], 'See this')
    assert.deepEqual(
      [audio.message['audioMessage']?.['ptt'], 'caption' in (audio.message['audioMessage'] ?? {})],
      [false, false],
    )
  })

  it('has another key each time', async () => {
    const world = await openWorld()
    const bytes = Buffer.from('the same')

    const [first, second] = [await world.uploaded('document', bytes), await world.uploaded('document', bytes)]

    assert.notDeepEqual(first.message['documentMessage']?.['mediaKey'], second.message['documentMessage']?.['mediaKey'])
  })

  it('is uploaded with a fresh token when the first is refused, but not a third time', async () => {
    const world = await openWorld()
    world.server.failNext(403)
    const { message } = await world.uploaded('document', Buffer.from('text'))
    world.server.failNext(401, 403)

    const again = await world.upload('document', Buffer.from('text'))

    assert.ok(message['documentMessage'])
    assert.deepEqual(world.asked, [false, true, false, true])
    assert.deepEqual(failureOf(again), ['transient', 'network_error', true])
  })

  it.each<[string, 'drop' | number, [string, string, boolean]]>([
    ['says that it is too big', 413, ['permanent', 'media_too_big', false]],
    ['has a fault', 500, ['transient', 'network_error', true]],
    ['redirects', 302, ['transient', 'network_error', true]],
    ['breaks the connection', 'drop', ['transient', 'network_error', true]],
  ])('fails when the host %s', async (_, fault, failure) => {
    const world = await openWorld()
    world.server.failNext(fault)

    const end = await world.upload('document', randomBytes(100_000))

    assert.deepEqual(failureOf(end), failure)
  })

  it('goes to the next host when the first does not answer', async () => {
    const world = await openWorld()
    world.hosts = (real) => [UNREACHABLE, ...real]

    assert.ok((await world.uploaded('document', Buffer.from('text'))).message['documentMessage'])
  })

  it('is not uploaded when it is longer than every host takes', async () => {
    const world = await openWorld()
    world.server.mostBytes = 1_000

    const [fits, end] = [
      await world.upload('document', randomBytes(900)),
      await world.upload('document', randomBytes(1_000)),
    ]

    assert.equal(fits.kind, 'uploaded')
    assert.deepEqual([failureOf(end), world.server.uploads.length], [['permanent', 'media_too_big', false], 1])
  })

  it.each([
    'evil.example',
    'whatsapp.net.evil.example',
    'evil.example/.whatsapp.net',
    'user@evil.example:1#.whatsapp.net',
  ])('is not uploaded to a host that is not WhatsApp’s: %s', async (hostname) => {
    const world = await openWorld()
    world.hosts = () => [{ hostname, maxContentLengthBytes: 1_000 }]

    const end = await world.upload('document', Buffer.from('text'))

    assert.equal(end.kind === 'failed' && end.failure.words, 'WhatsApp named no host for files')
  })

  it('is uploaded to this machine only when that is allowed', async () => {
    const world = await openWorld({ isLoopbackTaken: false })

    const end = await world.upload('document', Buffer.from('text'))

    assert.equal(end.kind === 'failed' && end.failure.words, 'WhatsApp named no host for files')
  })

  it('stops at once when it is aborted, before and while it is uploaded', async () => {
    const world = await openWorld()
    const aborting = new AbortController()
    world.server.failNext('stall')
    world.server.onStalled = () => aborting.abort()

    const [during, before] = [
      await world.upload('document', randomBytes(1_000), { signal: aborting.signal }),
      await world.upload('document', Buffer.from('text'), { signal: AbortSignal.abort() }),
    ]

    assert.deepEqual([failureOf(during)[1], failureOf(before)[1]], ['call_interrupted', 'call_interrupted'])
    assert.equal(world.asked.length, 1)
  })

  it('is lost when the spool no longer has it', async () => {
    const world = await openWorld()
    const media = await world.spool('document', Buffer.from('text'))
    await rm(media.path)

    assert.deepEqual(failureOf(await world.uploadFile('document', media)), ['transient', 'media_lost', false])
  })

  it('waits when WhatsApp does not say where files go', async () => {
    const world = await openWorld()
    world.hosts = () => {
      throw new Error('Timed Out')
    }

    assert.deepEqual(failureOf(await world.upload('document', Buffer.from('text'))), [
      'transient',
      'network_error',
      true,
    ])
  })
})

type Uploaded = Awaited<ReturnType<typeof uploadAttachment>>

interface Given {
  readonly caption?: string | null
  readonly signal?: AbortSignal
}

async function openWorld({ isLoopbackTaken = true } = {}) {
  const complaints: string[] = []
  const server = await MediaServer.start((problem) => complaints.push(problem))
  const guarded = createGuardedCall({ isLoopbackOpened: true, trustedCertificates: [server.authority] })
  const folder = temporaryFolder()
  onTestFinished(() => {
    server.close()
    assert.deepEqual(complaints, [])
  })
  const asked: boolean[] = []
  type Hosts = Awaited<ReturnType<AttachmentParts['mediaHosts']>>['hosts']
  const world = {
    server,
    asked,
    hosts: (real: Hosts): Hosts => real,
    async spool(type: MediaType, bytes: Buffer): Promise<MediaFile> {
      const path = join(folder, randomBytes(8).toString('hex'))
      await writeFile(path, bytes)
      return { path, sizeBytes: bytes.length, sha256: '', mime: MIMES[type] }
    },
    uploadFile(type: MediaType, media: MediaFile, { caption = 'See this', signal }: Given = {}): Promise<Uploaded> {
      const content: MediaContent = { type, name: 'file.bin', url: 'https://files.example/file.bin', caption }
      const parts: AttachmentParts = {
        guarded,
        clock: systemClock,
        isLoopbackTaken,
        async mediaHosts(isFresh) {
          asked.push(isFresh)
          const { attrs, content } = server.description
          const hosts = content.map(({ attrs: { hostname, maxContentLengthBytes } }) => ({
            hostname,
            maxContentLengthBytes: Number(maxContentLengthBytes),
          }))
          return { auth: attrs.auth, hosts: world.hosts(hosts) }
        },
      }
      return uploadAttachment(parts, { content, media }, signal ?? new AbortController().signal)
    },
    async upload(type: MediaType, bytes: Buffer, given: Given = {}): Promise<Uploaded> {
      return world.uploadFile(type, await world.spool(type, bytes), given)
    },
    async uploaded(type: MediaType, bytes: Buffer, given: Given = {}) {
      const end = await world.upload(type, bytes, given)
      assert.ok(end.kind === 'uploaded', JSON.stringify(end))
      return end
    },
  }
  return world
}

function failureOf(end: Uploaded): readonly [string, string, boolean] {
  assert.ok(end.kind === 'failed')
  return [end.failure.class, end.failure.code, end.failure.suspectsNetwork]
}
