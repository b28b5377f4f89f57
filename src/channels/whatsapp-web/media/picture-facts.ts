/** What a recipient's phone shows before it has the picture. */
export interface PictureFacts {
  readonly width: number
  readonly height: number
  /** A small JPEG that the picture itself contains; null when there is none that fits. */
  readonly thumbnail: Buffer | null
}

const MOST_THUMBNAIL_BYTES = 16_384
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')

/** Reads the size of a picture from its first bytes; null for other formats, and for what cannot be read. */
export function readPictureFacts(head: Buffer): PictureFacts | null {
  try {
    const facts = head.subarray(0, PNG.length).equals(PNG)
      ? readPng(head)
      : isWebp(head)
        ? readWebp(head)
        : readJpeg(head)
    return facts && facts.width > 0 && facts.height > 0 ? facts : null
  } catch (error) {
    // The header is cut short, or its lengths point outside of it.
    if (error instanceof RangeError) return null
    throw error
  }
}

function readPng(head: Buffer): PictureFacts | null {
  if (head.toString('latin1', 12, 16) !== 'IHDR') return null
  return { width: head.readUInt32BE(16), height: head.readUInt32BE(20), thumbnail: null }
}

function isWebp(head: Buffer): boolean {
  return head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP'
}

function readWebp(head: Buffer): PictureFacts | null {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1, thumbnail: null }
    case 'VP8L': {
      const bits = head.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, thumbnail: null }
    }
    case 'VP8 ':
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff, thumbnail: null }
    default:
      return null
  }
}

// Start of frame, of every kind of compression. Among these codes are three that mean something else.
const FRAMES = new Set([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf])
const APP1 = 0xe1
const EXIF = 'Exif\0\0'

function readJpeg(head: Buffer): PictureFacts | null {
  if (head.readUInt16BE(0) !== 0xffd8) return null
  let exif: ExifFacts | null = null
  for (let at = 2; ; ) {
    if (head.readUInt8(at) !== 0xff) return null
    const marker = head.readUInt8(at + 1)
    // Any number of these may fill the space before a marker.
    if (marker === 0xff) {
      at += 1
      continue
    }
    const length = head.readUInt16BE(at + 2)
    if (FRAMES.has(marker)) {
      const [height, width] = [head.readUInt16BE(at + 5), head.readUInt16BE(at + 7)]
      const thumbnail = exif?.thumbnail ?? null
      return exif?.isOnItsSide ? { width: height, height: width, thumbnail } : { width, height, thumbnail }
    }
    if (marker === APP1 && head.toString('latin1', at + 4, at + 10) === EXIF)
      exif ??= readExif(head.subarray(at + 10, at + 2 + length))
    at += 2 + length
  }
}

interface ExifFacts {
  /** It is shown turned by a quarter, so that its width is the height that is stored. */
  readonly isOnItsSide: boolean
  readonly thumbnail: Buffer | null
}

const ORIENTATION = 0x0112
const THUMBNAIL_AT = 0x0201
const THUMBNAIL_BYTES = 0x0202
const UPRIGHT = 1
const FIRST_ON_ITS_SIDE = 5

/** Null when it is broken: the picture can be shown without. */
function readExif(tiff: Buffer): ExifFacts | null {
  try {
    const isLittle = tiff.toString('latin1', 0, 2) === 'II'
    const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
    const long = (at: number) => (isLittle ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at))
    const readDirectory = (at: number) => {
      const count = short(at)
      const entryAt = (tag: number) => {
        for (let entry = at + 2; entry < at + 2 + count * 12; entry += 12) if (short(entry) === tag) return entry + 8
        return null
      }
      return { entryAt, next: long(at + 2 + count * 12) }
    }
    const picture = readDirectory(long(4))
    const orientationAt = picture.entryAt(ORIENTATION)
    const orientation = orientationAt === null ? UPRIGHT : short(orientationAt)
    const isOnItsSide = orientation >= FIRST_ON_ITS_SIDE
    // The thumbnail is stored as the camera was held, and nothing would turn it.
    if (picture.next === 0 || orientation !== UPRIGHT) return { isOnItsSide, thumbnail: null }
    const small = readDirectory(picture.next)
    const [from, bytes] = [small.entryAt(THUMBNAIL_AT), small.entryAt(THUMBNAIL_BYTES)]
    return { isOnItsSide, thumbnail: from === null || bytes === null ? null : cutJpeg(tiff, long(from), long(bytes)) }
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function cutJpeg(tiff: Buffer, from: number, bytes: number): Buffer | null {
  const cut = tiff.subarray(from, from + bytes)
  const isWhole = bytes > 2 && cut.length === bytes && cut.readUInt16BE(0) === 0xffd8
  return isWhole && bytes <= MOST_THUMBNAIL_BYTES ? cut : null
}
