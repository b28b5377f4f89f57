import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MediaWorld } from '../../test/support/media-world/media-world.ts'
import { answering } from '../../test/support/media-world/test-host.ts'
import { SAMPLES } from '../contract/samples.ts'
import { checkMediaUrl } from '../core/media-address/check-url.ts'
import type { MediaType } from '../core/message/message.ts'
import { sampleFiles } from '../server/wiring/operator-ranges.ts'

const PUBLIC_URL = 'http://127.0.0.1:8090'
const FOLDER = join(import.meta.dirname, '../../docs/samples')
const samples = new Map(
  [...sampleFiles({ publicUrl: PUBLIC_URL }).keys()].map((url) => [url, join(FOLDER, basename(url))]),
)
const TYPES: readonly (readonly [type: MediaType, name: string, mime: string])[] = [
  ['image', 'photo.jpg', 'image/jpeg'],
  ['document', 'invoice.pdf', 'application/pdf'],
  ['video', 'tour.mp4', 'video/mp4'],
  ['audio', 'hello.wav', 'audio/wav'],
]
const dial = () => Promise.reject(new Error('a sample is connected to'))

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

describe('our own sample files', () => {
  it.each(TYPES)('%s: %s is read from the program, and fits its type', async (type, name, mime) => {
    const fetched = await world.fetch(`${PUBLIC_URL}/docs/samples/${name}`, { type, replaced: { dial, samples } })

    expect(fetched).toMatchObject({ kind: 'fetched', file: { mime } })
    if (fetched.kind === 'fetched')
      expect(await readFile(fetched.file.path)).toEqual(await readFile(join(FOLDER, name)))
  })

  it('are those of the documents, by either name of this machine', () => {
    const named = [...samples.keys()].map((url) => basename(url))

    expect([...new Set(named)].sort()).toEqual(readdirSync(FOLDER).sort())
    expect(samples.has('http://localhost:8090/docs/samples/photo.jpg')).toBe(true)
  })

  it.each(['127.0.0.1', 'localhost'])('are named once each at the address of one that is missing, on %s', (host) => {
    expect(checkMediaUrl(`http://${host}:8090/docs/samples/photo.png`, { allowed: [], refused: [], samples })).toEqual({
      ok: false,
      code: 'sample_unknown',
      detail: `There is no sample file at this URL. Those that there are: ${Object.values(SAMPLES).join(', ')}.`,
      isClosed: false,
      network: null,
    })
  })

  it('G9: are not reached by a redirect', async () => {
    const sample = `${PUBLIC_URL}/docs/samples/photo.jpg`
    const host = await world.host(answering(302, { location: sample }, ''))

    const fetched = await world.fetch(host.url('/a.jpg'), { replaced: { samples } })

    expect(fetched).toMatchObject({ kind: 'failed', code: 'media_blocked' })
  })

  it('fail with a reason where the installation has lost them', async () => {
    const lost = new Map([[`${PUBLIC_URL}/docs/samples/photo.jpg`, join(FOLDER, 'gone.jpg')]])

    const fetched = await world.fetch(`${PUBLIC_URL}/docs/samples/photo.jpg`, { replaced: { samples: lost } })

    expect(fetched).toMatchObject({ kind: 'failed', code: 'media_connect' })
  })
})
