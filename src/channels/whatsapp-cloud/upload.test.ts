import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { describe, it } from 'vitest'
import { waitUntil } from '../../../test/support/black-box/wait-until.ts'
import { type CloudWorld, FILES, openCloudWorld } from '../../../test/support/cloud-world/cloud-world.ts'
import type { FaultKind } from '../../../test/support/whatsapp-cloud/simulator-types.ts'
import type { MediaContent, MediaType } from '../../core/message/message.ts'

const DAY_MS = 24 * 3_600_000

describe('an upload', () => {
  it('is made once for the same content, by whichever worker', async () => {
    const { handover, spool, prepare, openChannel, simulator } = await openCloudWorld()
    const [first, copy] = [await spool(FILES.png, 'image/png'), await spool(FILES.png, 'image/png')]

    await prepare(handover(contentOf('image'), { media: first }))
    await prepare(handover(contentOf('image'), { media: copy }))
    const elsewhere = await prepare(handover(contentOf('image'), { media: copy }), openChannel())

    assert.deepEqual([elsewhere, simulator.uploads.length], [{ kind: 'ready' }, 1])
  })

  it('is made again before Meta forgets it', async () => {
    const { handover, spool, prepare, openChannel, simulator, clock } = await openCloudWorld()
    const message = handover(contentOf('image'), { media: await spool(FILES.png, 'image/png') })
    await prepare(message)
    await clock.pass(28 * DAY_MS)
    await prepare(message)
    const before = simulator.uploads.length
    await clock.pass(DAY_MS)

    await prepare(message, openChannel())

    assert.deepEqual([before, simulator.uploads.length], [1, 2])
  })

  it('is streamed byte for byte, however large', async () => {
    const { handover, spool, prepare, simulator } = await openCloudWorld()
    const large = Buffer.concat([FILES.pdf, Buffer.alloc(3_000_000, 'abc')])

    const prepared = await prepare(handover(contentOf('document'), { media: await spool(large, 'application/pdf') }))

    assert.equal(prepared.kind, 'ready')
    assert.ok(simulator.uploads[0]?.bytes.equals(large))
  })

  it('is nothing for a text', async () => {
    const { handover, prepare, simulator } = await openCloudWorld()

    assert.deepEqual(await prepare(handover({ type: 'message', text: 'Hello' })), { kind: 'ready' })
    assert.equal(simulator.requests.length, 0)
  })

  it.each<FaultKind>(['drop-before', 'drop-after', 'half-answer', 'garbage', 'no-code', 'no-id'])(
    'that is broken off (%s) is simply made again',
    async (fault) => {
      const { handover, spool, prepare, simulator } = await openCloudWorld()
      simulator.fault(fault, { on: 'media', times: 1 })
      const message = handover(contentOf('image'), { media: await spool(FILES.png, 'image/png') })

      const first = await prepare(message)

      assert.deepEqual(
        first.kind === 'failed' && [first.failure.class, first.failure.code, first.failure.suspectsNetwork],
        ['transient', 'network_error', true],
      )
      assert.deepEqual(await prepare(message), { kind: 'ready' })
    },
  )

  it('that Meta refuses fails as its code says', async () => {
    const { handover, spool, prepare, simulator } = await openCloudWorld()
    simulator.fail({ on: 'media', code: 190, times: 1 })

    const prepared = await prepare(handover(contentOf('image'), { media: await spool(FILES.png, 'image/png') }))

    assert.deepEqual(prepared.kind === 'failed' && [prepared.failure.class, prepared.failure.code], [
      'connection',
      'whatsapp_190',
    ])
  })

  it('that Meta refuses with an unknown code beside a failure of its own is made again', async () => {
    const { handover, spool, prepare, simulator } = await openCloudWorld()
    simulator.fail({ on: 'media', code: 987654, httpStatus: 500, times: 1 })
    const message = handover(contentOf('image'), { media: await spool(FILES.png, 'image/png') })

    const first = await prepare(message)

    assert.equal(first.kind === 'failed' && first.failure.class, 'transient')
    assert.deepEqual(await prepare(message), { kind: 'ready' })
  })

  it('of a file that is gone asks for it to be fetched again', async () => {
    const { handover, spool, prepare, simulator } = await openCloudWorld()
    const media = await spool(FILES.png, 'image/png')
    await rm(media.path)

    const prepared = await prepare(handover(contentOf('image'), { media }))

    assert.deepEqual(prepared.kind === 'failed' && [prepared.failure.class, prepared.failure.code], [
      'transient',
      'media_lost',
    ])
    assert.equal(simulator.requests.length, 0)
  })

  it('ends soon when it is stopped', async () => {
    const { handover, spool, channel, simulator } = await openCloudWorld()
    simulator.fault('hang-before', { on: 'media' })
    const message = handover(contentOf('image'), { media: await spool(FILES.png, 'image/png') })

    const stopping = new AbortController()
    const running = channel.prepare?.(message, stopping.signal)
    await waitUntil('the upload comes', async () => simulator.requests.length > 0, { deadlineMs: 10_000 })
    stopping.abort()
    const prepared = await running

    assert.equal(prepared?.kind === 'failed' && prepared.failure.class, 'transient')
  })

  it('is forgotten when it has run out', async () => {
    const { handover, spool, prepare, channel, memory, clock } = await openCloudWorld()
    await channel.start({
      receipt: async () => {},
      offerReceipt: async () => 'applied',
      sendAgain: async () => null,
    })
    await prepare(handover(contentOf('image'), { media: await spool(FILES.png, 'image/png') }))
    const kept = () => memory.list('upload', { connectionId: null, after: 0, limit: 10 })
    const before = (await kept()).length
    clock.setNow(29 * DAY_MS)
    await clock.pass(15 * 60_000)

    assert.deepEqual([before, (await kept()).length], [1, 0])
  })
})

describe('a file that Meta does not take', () => {
  it.each<[string, MediaType, keyof typeof FILES | number, string, RegExp]>([
    ['a WebP image', 'image', 'png', 'image/webp', /JPEG or PNG/],
    ['a large image', 'image', 5_000_001, 'image/png', /at most 5 MB/],
    ['a QuickTime video', 'video', 'mp4', 'video/quicktime', /MP4 or 3GPP/],
    ['a large video', 'video', 16_000_001, 'video/mp4', /at most 16 MB/],
    ['a WAV recording', 'audio', 'ogg', 'audio/wav', /AAC, AMR, MP3/],
    ['Ogg without Opus', 'audio', 'vorbis', 'audio/ogg', /only with Opus/],
    ['Opus in stereo', 'audio', 'stereo', 'audio/ogg', /one channel/],
    ['an archive', 'document', 'pdf', 'application/zip', /plain text, PDF/],
    ['a document of an unknown format', 'document', 'pdf', 'application/octet-stream', /plain text, PDF/],
    ['an old Office file of an odd name', 'document', 'pdf', 'application/x-cfb', /plain text, PDF/],
    ['a large document', 'document', 100_000_001, 'application/pdf', /at most 100 MB/],
  ])('is not uploaded: %s', async (...[, type, file, mime, words]) => {
    const { handover, spool, prepare, simulator } = await openCloudWorld()
    const media = await spool(typeof file === 'number' ? FILES.png : FILES[file], mime)
    const sized = typeof file === 'number' ? { ...media, sizeBytes: file } : media

    const prepared = await prepare(handover(contentOf(type), { media: sized }))

    assert.deepEqual(prepared.kind === 'failed' && [prepared.failure.class, prepared.failure.code], [
      'permanent',
      'media_not_for_network',
    ])
    assert.match(String(prepared.kind === 'failed' && prepared.failure.words), words)
    assert.equal(simulator.requests.length, 0)
  })

  it.each([
    ['a picture as a file', 'holiday.png', FILES.png, 'image/png', 'image/png'],
    ['an old Word file, by its name', 'letter.DOC', FILES.pdf, 'application/x-cfb', 'application/msword'],
    ['an old Excel file, by its name', 'sums.xls', FILES.pdf, 'application/x-cfb', 'application/vnd.ms-excel'],
  ])('is not confused with one that it takes: %s', async (...[, name, bytes, mime, report]) => {
    const world = await openCloudWorld()
    const message = world.handover({ ...contentOf('document'), name }, { media: await world.spool(bytes, mime) })

    const outcome = await world.sendFile(message)

    assert.deepEqual([outcome.kind, uploadedMime(world)], ['accepted', report])
  })
})

function contentOf(type: MediaType): MediaContent {
  return { type, name: 'a.png', url: 'https://files.example/a.png', caption: null }
}

function uploadedMime({ simulator }: CloudWorld): string | undefined {
  return simulator.uploads[0]?.mime
}
