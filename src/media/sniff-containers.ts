import type { FoundType } from './found-type.ts'

/** Recognises container formats by their content. Null when it is none of them. */
export function sniffContainer(head: Uint8Array): FoundType | null {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  const start = bytes.toString('latin1', 0, 4)
  if (start === 'RIFF') return sniffRiff(bytes.toString('latin1', 8, 12))
  if (start === 'OggS') return sniffOgg(bytes)
  if (start === 'PK\x03\x04' || start === 'PK\x05\x06') return sniffZip(bytes)
  if (start === '\x1a\x45\xdf\xa3') return sniffMatroska(bytes)
  return sniffIsoMedia(bytes)
}

function sniffRiff(form: string): FoundType | null {
  if (form === 'WEBP') return { mime: 'image/webp', words: 'a WebP image' }
  if (form === 'WAVE') return { mime: 'audio/wav', words: 'a WAV recording' }
  if (form === 'AVI ') return { mime: 'video/x-msvideo', words: 'an AVI video' }
  return null
}

function sniffOgg(bytes: Buffer): FoundType {
  // The first page holds the first packet, which names the codec.
  const firstPacket = bytes.subarray(27 + (bytes[26] ?? 0), 27 + (bytes[26] ?? 0) + 8).toString('latin1')
  if (firstPacket.startsWith('\x80theora')) return { mime: 'video/ogg', words: 'an Ogg video' }
  if (firstPacket.startsWith('fishead')) return { mime: 'application/ogg', words: 'an Ogg file of several streams' }
  return { mime: 'audio/ogg', words: 'an Ogg recording' }
}

function sniffMatroska(bytes: Buffer): FoundType {
  // The document type is an element of the header: id 42 82, one byte of length, then text.
  const at = bytes.subarray(0, 80).indexOf(Buffer.from([0x42, 0x82]))
  const isWebm = at !== -1 && bytes.toString('latin1', at + 3, at + 7) === 'webm'
  return isWebm
    ? { mime: 'video/webm', words: 'a WebM video' }
    : { mime: 'video/x-matroska', words: 'a Matroska video' }
}

const OFFICE = 'application/vnd.openxmlformats-officedocument.'
const ZIP_PARTS: readonly (readonly [name: string, mime: string, words: string])[] = [
  ['word/', `${OFFICE}wordprocessingml.document`, 'a Word document'],
  ['xl/', `${OFFICE}spreadsheetml.sheet`, 'an Excel workbook'],
  ['ppt/', `${OFFICE}presentationml.presentation`, 'a PowerPoint presentation'],
]
const ZIP_MIMES: readonly string[] = [
  'application/epub+zip',
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/vnd.oasis.opendocument.presentation',
]

function sniffZip(bytes: Buffer): FoundType {
  const names = listEntryNames(bytes)
  // OpenDocument and EPUB put their MIME type first, as an entry that is not compressed.
  if (names[0]?.name === 'mimetype') {
    const mime = ZIP_MIMES.find(
      (known) => bytes.toString('latin1', names[0]?.dataAt, (names[0]?.dataAt ?? 0) + known.length) === known,
    )
    if (mime) return { mime, words: 'a document in a ZIP archive' }
  }
  const part = ZIP_PARTS.find(([prefix]) => names.some(({ name }) => name.startsWith(prefix)))
  return part ? { mime: part[1], words: part[2] } : { mime: 'application/zip', words: 'a ZIP archive' }
}

// Longer than any name or prefix that is compared.
const MOST_NAME_BYTES = 16

/**
 * The start of each entry name whose header lies within the head. Sizes are not trusted: often they are not filled in.
 * Nor is the length of a name: a file may announce a name that reaches to its end every 30 bytes.
 */
function listEntryNames(bytes: Buffer): readonly { readonly name: string; readonly dataAt: number }[] {
  const names: { name: string; dataAt: number }[] = []
  for (
    let at = bytes.indexOf('PK\x03\x04', 0, 'latin1');
    at !== -1 && at + 30 <= bytes.length;
    at = bytes.indexOf('PK\x03\x04', at + 4, 'latin1')
  ) {
    const nameEnd = at + 30 + bytes.readUInt16LE(at + 26)
    const name = bytes.toString('latin1', at + 30, Math.min(nameEnd, at + 30 + MOST_NAME_BYTES))
    names.push({ name, dataAt: nameEnd + bytes.readUInt16LE(at + 28) })
  }
  return names
}

const PLAIN_MP4 = [
  'isom',
  'mp41',
  'mp42',
  'avc1',
  'dash',
  'MSNV',
  'M4V ',
  'M4VH',
  'M4VP',
  'f4v ',
  'F4V ',
  'mmp4',
  'cmfc',
  'cmf2',
  'NDSC',
  'NDXC',
]
const ISO_BRANDS: readonly (readonly [match: (brand: string) => boolean, mime: string, words: string])[] = [
  [(brand) => ['M4A ', 'M4B ', 'M4P '].includes(brand), 'audio/mp4', 'an M4A recording'],
  [(brand) => brand === 'qt  ', 'video/quicktime', 'a QuickTime video'],
  [(brand) => brand.startsWith('3gp'), 'video/3gpp', 'a 3GPP video'],
  [(brand) => brand.startsWith('3g2'), 'video/3gpp2', 'a 3GPP2 video'],
  [(brand) => ['avif', 'avis'].includes(brand), 'image/avif', 'an AVIF image'],
  [
    (brand) => ['heic', 'heix', 'hevc', 'hevx', 'heim', 'heis', 'mif1', 'msf1'].includes(brand),
    'image/heic',
    'an HEIC image',
  ],
  [(brand) => brand.startsWith('crx'), 'image/x-canon-cr3', 'a raw photo'],
  [(brand) => PLAIN_MP4.includes(brand) || brand.startsWith('iso'), 'video/mp4', 'an MP4 video'],
]

/** MP4 and its relatives: a box `ftyp` names the brand that the file follows first, then others it is readable as. */
function sniffIsoMedia(bytes: Buffer): FoundType | null {
  const box = bytes.toString('latin1', 4, 8)
  // Old QuickTime files have no `ftyp` and begin with their content.
  if (['moov', 'mdat', 'wide'].includes(box)) return { mime: 'video/quicktime', words: 'a QuickTime video' }
  if (box !== 'ftyp' || bytes.length < 12) return null
  const end = Math.min(bytes.readUInt32BE(0), bytes.length, 256)
  const brands = [bytes.toString('latin1', 8, 12)]
  for (let at = 16; at + 4 <= end; at += 4) brands.push(bytes.toString('latin1', at, at + 4))
  for (const brand of brands) {
    const known = ISO_BRANDS.find(([match]) => match(brand))
    // Music players write a plain brand first and theirs after it.
    if (known?.[1] === 'video/mp4' && brands.includes('M4A ')) return { mime: 'audio/mp4', words: 'an M4A recording' }
    if (known) return { mime: known[1], words: known[2] }
  }
  return { mime: 'application/octet-stream', words: 'of the MP4 family, but of a kind that is not recognised' }
}
