import { describe, expect, it } from 'vitest'
import { checkWhole } from './check-content.ts'
import { readTracks } from './iso-tracks.ts'

function box(type: string, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  const header = Buffer.alloc(8)
  header.writeUInt32BE(body.length + 8)
  header.write(type, 4, 'latin1')
  return Buffer.concat([header, body])
}

/** A box whose length is written as 64 bits. */
function longBox(type: string, content: Buffer): Buffer {
  const header = Buffer.alloc(16)
  header.writeUInt32BE(1)
  header.write(type, 4, 'latin1')
  header.writeBigUInt64BE(BigInt(content.length + 16), 8)
  return Buffer.concat([header, content])
}

const track = (kind: string) =>
  box(
    'trak',
    box('tkhd', Buffer.alloc(84)),
    box('mdia', box('hdlr', Buffer.alloc(8), Buffer.from(kind), Buffer.alloc(13))),
  )
const FTYP = box('ftyp', Buffer.from('mp42\0\0\0\0isommp42'))
const sound = box('moov', box('mvhd', Buffer.alloc(100)), track('soun'))
const film = box('moov', track('vide'), track('soun'))
const content = box('mdat', Buffer.alloc(50_000, 7))

function whole(file: Buffer) {
  return {
    head: file.subarray(0, 8192),
    sizeBytes: file.length,
    read: async (position: number, length: number) => file.subarray(position, position + length),
  }
}

function tracksOf(file: Buffer) {
  return readTracks(whole(file).read, file.length)
}

describe('readTracks', () => {
  it.each([
    ['at the end', Buffer.concat([FTYP, content, sound])],
    ['at the start', Buffer.concat([FTYP, sound, content])],
    ['after a box with a long length', Buffer.concat([FTYP, longBox('mdat', Buffer.alloc(9000)), sound])],
  ])('finds the list of tracks %s', async (_where, file) => {
    expect(await tracksOf(file)).toEqual({ hasSound: true, hasPicture: false })
  })

  it('sees the picture of a film', async () => {
    expect(await tracksOf(Buffer.concat([FTYP, content, film]))).toEqual({ hasSound: true, hasPicture: true })
  })

  it.each([
    ['without a list', Buffer.concat([FTYP, content])],
    ['cut off in the list', Buffer.concat([FTYP, content, sound]).subarray(0, -5)],
    ['whose last box reaches to the end', Buffer.concat([FTYP, Buffer.from('\0\0\0\0mdat'), sound])],
    ['with a box shorter than its own header', Buffer.concat([FTYP, Buffer.from('\0\0\0\x03free'), sound])],
    [
      'with a long box shorter than its own header',
      Buffer.concat([FTYP, Buffer.from('\0\0\0\x01free\0\0\0\0\0\0\0\x08'), sound]),
    ],
    [
      'with a box longer than any file',
      Buffer.concat([FTYP, Buffer.from('\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff', 'latin1'), sound]),
    ],
    ['of thousands of empty boxes', Buffer.concat([FTYP, ...Array<Buffer>(2000).fill(box('free')), sound])],
    ['with a list of many megabytes', Buffer.concat([FTYP, box('moov', Buffer.alloc(5_000_000), track('soun'))])],
    ['of a few bytes', Buffer.from('\0\0\0')],
  ])('gives up on a file %s', async (_what, file) => {
    expect(await tracksOf(file)).toBeNull()
  })
})

describe('checkWhole', () => {
  it('takes an MP4 of sound alone as audio', async () => {
    expect(await checkWhole('audio', whole(Buffer.concat([FTYP, content, sound])))).toBe('audio/mp4')
  })

  it.each([
    ['a film', Buffer.concat([FTYP, content, film])],
    ['an MP4 that does not say', Buffer.concat([FTYP, content])],
  ])('refuses %s as audio', async (_what, file) => {
    await expect(checkWhole('audio', whole(file))).rejects.toMatchObject({
      failure: { code: 'media_wrong_type', mayPass: false },
    })
  })

  it('takes either as video', async () => {
    expect(await checkWhole('video', whole(Buffer.concat([FTYP, content, film])))).toBe('video/mp4')
    expect(await checkWhole('video', whole(Buffer.concat([FTYP, content, sound])))).toBe('video/mp4')
  })
})
