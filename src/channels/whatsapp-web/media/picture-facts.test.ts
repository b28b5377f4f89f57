import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { readPictureFacts } from './picture-facts.ts'

const SMALL = Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(200, 7)])
const SOI = Buffer.from([0xff, 0xd8])
const QUANTISATION = segment(0xdb, Buffer.alloc(65))

describe('the size of a picture', () => {
  it.each<[string, Buffer, readonly [number, number]]>([
    ['PNG', Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAA', 'base64'), [2, 3]],
    ['JPEG', Buffer.concat([SOI, segment(0xe0, Buffer.alloc(14)), QUANTISATION, frame(0xc0, 640, 480)]), [640, 480]],
    ['progressive JPEG', Buffer.concat([SOI, QUANTISATION, frame(0xc2, 1200, 900)]), [1200, 900]],
    // 0xC4 is no frame: it holds tables.
    ['JPEG with tables first', Buffer.concat([SOI, segment(0xc4, Buffer.alloc(20, 9)), frame(0xc1, 30, 20)]), [30, 20]],
    ['JPEG with filled space', Buffer.concat([SOI, Buffer.from([0xff, 0xff]), frame(0xc0, 3, 4)]), [3, 4]],
    ['lossy WebP', webp('VP8 ', Buffer.from('300100' + '9d012a' + '0a00' + '1400', 'hex')), [10, 20]],
    // 9 and 19 in 14 bits each.
    ['lossless WebP', webp('VP8L', Buffer.from([0x2f, 0x09, 0xc0, 0x04, 0x00])), [10, 20]],
    ['WebP with parts', webp('VP8X', Buffer.from([0x10, 0, 0, 0, 9, 0, 0, 19, 0, 0])), [10, 20]],
  ])('is read from a %s', (_, head, [width, height]) => {
    assert.deepEqual(readPictureFacts(head), { width, height, thumbnail: null })
  })

  it.each(['II', 'MM'] as const)('comes with the thumbnail of the camera, in either order of bytes: %s', (order) => {
    const facts = readPictureFacts(photo(exif(order, { orientation: 1, thumbnail: SMALL })))

    assert.deepEqual(facts, { width: 640, height: 480, thumbnail: SMALL })
  })

  it('comes without a thumbnail that is too large, is no JPEG or is cut', () => {
    const large = Buffer.concat([SOI, Buffer.alloc(16_383)])
    const whole = exif('II', { orientation: 1, thumbnail: SMALL })

    for (const broken of [
      exif('II', { orientation: 1, thumbnail: large }),
      exif('II', { orientation: 1, thumbnail: Buffer.from('no picture') }),
      whole.subarray(0, -1),
    ])
      assert.deepEqual(readPictureFacts(photo(broken)), { width: 640, height: 480, thumbnail: null })
  })

  it.each([
    [3, 640, 480],
    [6, 480, 640],
    [8, 480, 640],
  ])(
    'is that of the turned picture when the camera was turned (%i), without the thumbnail, which would not be',
    (orientation, width, height) => {
      const facts = readPictureFacts(photo(exif('MM', { orientation, thumbnail: SMALL })))

      assert.deepEqual(facts, { width, height, thumbnail: null })
    },
  )

  it('is null, and never throws, for a header that is cut anywhere, and for what is no picture', () => {
    const whole = photo(exif('II', { orientation: 1, thumbnail: SMALL }))

    for (let length = 0; length < whole.length - 10; length += 1)
      assert.equal(readPictureFacts(whole.subarray(0, length)), null)
    assert.equal(readPictureFacts(Buffer.from('%PDF-1.4')), null)
    assert.equal(readPictureFacts(Buffer.concat([SOI, frame(0xc0, 0, 0)])), null)
  })
})

function segment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(content.length + 2, 2)
  return Buffer.concat([head, content])
}

function frame(marker: number, width: number, height: number): Buffer {
  const content = Buffer.alloc(15)
  content.writeUInt16BE(height, 1)
  content.writeUInt16BE(width, 3)
  return segment(marker, content)
}

function photo(tiff: Buffer): Buffer {
  const exifSegment = segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), tiff]))
  return Buffer.concat([SOI, exifSegment, QUANTISATION, frame(0xc0, 640, 480)])
}

function webp(kind: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBP'), Buffer.from(kind), Buffer.alloc(4), content])
}

/** Two directories: of the picture, and of its thumbnail. */
function exif(order: 'II' | 'MM', { orientation, thumbnail }: { orientation: number; thumbnail: Buffer }): Buffer {
  const isLittle = order === 'II'
  const short = (value: number) => number(value, 2, isLittle)
  const long = (value: number) => number(value, 4, isLittle)
  const thumbnailAt = 8 + (2 + 12 + 4) + (2 + 2 * 12 + 4)
  return Buffer.concat([
    Buffer.from(order),
    short(42),
    long(8),
    short(1),
    Buffer.concat([short(0x0112), short(3), long(1), short(orientation), short(0)]),
    long(8 + 18),
    short(2),
    Buffer.concat([short(0x0201), short(4), long(1), long(thumbnailAt)]),
    Buffer.concat([short(0x0202), short(4), long(1), long(thumbnail.length)]),
    long(0),
    thumbnail,
  ])
}

function number(value: number, bytes: number, isLittle: boolean): Buffer {
  const buffer = Buffer.alloc(bytes)
  if (isLittle) buffer.writeUIntLE(value, 0, bytes)
  else buffer.writeUIntBE(value, 0, bytes)
  return buffer
}
