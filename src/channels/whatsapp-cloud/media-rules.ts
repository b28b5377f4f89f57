import { open } from 'node:fs/promises'
import type { MediaContent, MediaFile, MediaType } from '../../core/message/message.ts'

const OFFICE = 'application/vnd.openxmlformats-officedocument'

const MB = 1_000_000

/** What Meta takes of one type of message. */
interface MediaRule {
  /** With its article. */
  readonly words: string
  /** MIME type → its name for people. */
  readonly formats: Readonly<Record<string, string>>
  /** The page says MB and not which: the smaller one, so that what passes here passes there. */
  readonly mostMegabytes: number
}

/** By Meta's page “Media”. The manual prints this table. A document may be of every format of the other types, too. */
export const MEDIA_RULES: Readonly<Record<MediaType, MediaRule>> = {
  image: { words: 'an image', formats: { 'image/jpeg': 'JPEG', 'image/png': 'PNG' }, mostMegabytes: 5 },
  document: {
    words: 'a document',
    formats: {
      'text/plain': 'plain text',
      'application/pdf': 'PDF',
      'application/msword': 'Word',
      'application/vnd.ms-excel': 'Excel',
      'application/vnd.ms-powerpoint': 'PowerPoint',
      [`${OFFICE}.wordprocessingml.document`]: 'Word',
      [`${OFFICE}.spreadsheetml.sheet`]: 'Excel',
      [`${OFFICE}.presentationml.presentation`]: 'PowerPoint',
    },
    mostMegabytes: 100,
  },
  video: { words: 'a video', formats: { 'video/mp4': 'MP4', 'video/3gpp': '3GPP' }, mostMegabytes: 16 },
  audio: {
    words: 'a sound',
    formats: {
      'audio/aac': 'AAC',
      'audio/amr': 'AMR',
      'audio/mpeg': 'MP3',
      'audio/mp4': 'M4A',
      'audio/ogg': 'Ogg with mono Opus',
    },
    mostMegabytes: 16,
  },
}

/** The names of the formats that a message of this type may have, each once. */
export function formatNames(type: MediaType): readonly string[] {
  return [...new Set(Object.values(formatsOf(type)))]
}

/** Whatever can be uploaded can be shown as a file, too. */
function formatsOf(type: MediaType): Readonly<Record<string, string>> {
  const { formats } = MEDIA_RULES[type]
  if (type !== 'document') return formats
  return Object.assign({}, formats, ...Object.values(MEDIA_RULES).map((rule) => rule.formats)) as typeof formats
}

/** Old Office files are one format by their bytes: only the name says what they hold. */
const OLD_OFFICE = 'application/x-cfb'
const OLD_OFFICE_MIMES: Readonly<Record<string, string>> = {
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
}

/** The MIME type of a file for Meta: as its bytes say, and where these leave it open, as its name says. */
export function mimeForNetwork({ name }: Pick<MediaContent, 'name'>, { mime }: Pick<MediaFile, 'mime'>): string {
  if (mime !== OLD_OFFICE) return mime
  const extension = /\.([a-z]{3})$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  return OLD_OFFICE_MIMES[extension] ?? mime
}

/** Null when Meta takes such a file for such a message; else why not, and what it takes. */
export function whyNotForNetwork(type: MediaType, media: Pick<MediaFile, 'mime' | 'sizeBytes'>): string | null {
  const { mime, sizeBytes } = media
  const { words, mostMegabytes } = MEDIA_RULES[type]
  if (!Object.hasOwn(formatsOf(type), mime)) {
    const names = formatNames(type)
    return `WhatsApp does not take ${mime} here: ${words} must be ${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}.`
  }
  if (sizeBytes > mostMegabytes * MB)
    return `WhatsApp takes ${words} of at most ${mostMegabytes} MB (${bytesOf(mostMegabytes * MB)}); this one has ${bytesOf(sizeBytes)}.`
  return sizeBytes === 0 ? 'The file is empty (0 bytes), and WhatsApp takes no empty file.' : null
}

function bytesOf(bytes: number): string {
  return `${bytes.toLocaleString('en')} bytes`
}

const OPUS_HEAD = 'OpusHead'
const HEAD_BYTES = 512

/**
 * Ogg is a box, and only one sound in it is taken: Opus with one channel. Both stand in its first page, which is all that
 * is read. Null when it is that; else why not.
 */
export async function whyNotOpus(path: string): Promise<string | null> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const head = buffer.subarray(0, bytesRead)
    const at = head.indexOf(OPUS_HEAD)
    if (at < 0) return 'WhatsApp takes Ogg only with Opus in it, and this file holds something else.'
    // After the mark come the version and the number of channels (RFC 7845, section 5.1).
    const channels = head[at + OPUS_HEAD.length + 1] ?? 0
    return channels === 1 ? null : `WhatsApp takes Opus with one channel (mono), and this file has ${channels}.`
  } finally {
    await file.close()
  }
}
