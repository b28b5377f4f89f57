import { createHash } from 'node:crypto'
import { GraphError, invalid, required } from './graph-error.ts'
import { readMultipart } from './read-multipart.ts'
import type { Upload } from './simulator-types.ts'

export type MediaKind = 'image' | 'document' | 'video' | 'audio' | 'sticker'

const OFFICE = 'application/vnd.openxmlformats-officedocument'

const MIMES: Readonly<Record<MediaKind, readonly string[]>> = {
  image: ['image/jpeg', 'image/png'],
  document: [
    'text/plain',
    'application/pdf',
    'application/msword',
    'application/vnd.ms-excel',
    'application/vnd.ms-powerpoint',
    `${OFFICE}.wordprocessingml.document`,
    `${OFFICE}.spreadsheetml.sheet`,
    `${OFFICE}.presentationml.presentation`,
  ],
  video: ['video/mp4', 'video/3gpp'],
  audio: ['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg'],
  sticker: ['image/webp'],
}

// The page "Media" says MB without defining it. This is the smaller of both readings, so what passes here passes there.
const MOST_BYTES: Readonly<Record<MediaKind, number>> = {
  image: 5_000_000,
  document: 100_000_000,
  video: 16_000_000,
  audio: 16_000_000,
  sticker: 500_000,
}

const LIVES_MS = 30 * 24 * 60 * 60 * 1_000

/** The uploads of all numbers. */
export class MediaStore {
  readonly uploads: Upload[] = []
  readonly #deleted = new Set<string>()

  /** Parses a multipart body and stores its file. */
  take(phoneNumberId: string, { contentType, body, now }: { contentType: string; body: Buffer; now: number }) {
    const form = readMultipart(contentType, body)
    if (form?.fields.get('messaging_product') !== 'whatsapp') throw required('messaging_product')
    const file = form.files.get('file')
    if (!file) throw required('file')
    const mime = plainMime(file.mime)
    const declared = form.fields.get('type')
    if (declared !== undefined && plainMime(declared) !== mime) {
      throw invalid(`Param type '${declared}' does not match the type of the file, '${mime}'.`)
    }
    const kind = kindOfMime(mime)
    if (!kind) {
      const allowed = Object.values(MIMES).flat().join(', ')
      throw invalid(
        `Param file must be a file with one of the following types: ${allowed}. Received file of type '${mime || 'application/octet-stream'}'.`,
      )
    }
    const { bytes, filename } = file
    if (bytes.length === 0) throw invalid('Param file must not be empty.')
    if (bytes.length > MOST_BYTES[kind]) {
      throw new GraphError(131053, {
        details: `File size is ${bytes.length} bytes. The limit for ${kind} is ${MOST_BYTES[kind]} bytes.`,
      })
    }
    if (!startsLike(mime, bytes)) {
      throw new GraphError(131053, {
        details: `Media file with mime type ${mime} expected: its content is of another type.`,
      })
    }
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const id = String(1_000_000_000_000_000 + this.uploads.length * 7 + (now % 1_000_000) * 1_000)
    const upload: Upload = { id, phoneNumberId, mime, filename, bytes, sha256, at: now }
    this.uploads.push(upload)
    return upload
  }

  /** Null if the id never existed, was deleted, has expired, or belongs to another number. */
  find(id: string, phoneNumberId: string | null, now: number): Upload | null {
    const upload = this.uploads.find((one) => one.id === id)
    if (!upload || this.#deleted.has(id) || now - upload.at > LIVES_MS) return null
    return phoneNumberId === null || upload.phoneNumberId === phoneNumberId ? upload : null
  }

  remove(id: string): void {
    this.#deleted.add(id)
  }
}

export function kindOfMime(mime: string): MediaKind | null {
  const found = Object.entries(MIMES).find(([, mimes]) => mimes.includes(mime))
  return (found?.[0] ?? null) as MediaKind | null
}

// Removes parameters, such as codecs.
function plainMime(mime: string): string {
  return (mime.split(';')[0] ?? '').trim().toLowerCase()
}

const startsWith = (bytes: Buffer, ...start: readonly number[]) => start.every((byte, place) => bytes[place] === byte)
const hasWord = (bytes: Buffer, word: string, from = 0) => bytes.toString('latin1', from, from + word.length) === word

// Checks the content, as the network does, instead of the file's name. Reads only the first bytes.
function startsLike(mime: string, bytes: Buffer): boolean {
  switch (mime) {
    case 'image/jpeg':
      return startsWith(bytes, 0xff, 0xd8, 0xff)
    case 'image/png':
      return startsWith(bytes, 0x89, 0x50, 0x4e, 0x47)
    case 'image/webp':
      return hasWord(bytes, 'RIFF') && hasWord(bytes, 'WEBP', 8)
    case 'application/pdf':
      return hasWord(bytes, '%PDF')
    case 'video/mp4':
    case 'video/3gpp':
    case 'audio/mp4':
      return hasWord(bytes, 'ftyp', 4)
    case 'audio/ogg':
      return hasWord(bytes, 'OggS') && bytes.subarray(0, 200).includes('OpusHead')
    case 'audio/mpeg':
      return hasWord(bytes, 'ID3') || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0)
    case 'audio/aac':
      return bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xf6) === 0xf0
    case 'audio/amr':
      return hasWord(bytes, '#!AMR')
    default:
      return true
  }
}
