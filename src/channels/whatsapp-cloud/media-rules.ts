import { open } from 'node:fs/promises'
import type { MediaContent, MediaFile, MediaType } from '../../core/message/message.ts'

const OFFICE = 'application/vnd.openxmlformats-officedocument'

/** What Meta takes, by its page “Media”. */
const MIMES: Readonly<Record<MediaType, readonly string[]>> = {
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
}

const MB = 1_000_000
// The page says MB and not which: the smaller one, so that what passes here passes there.
const MOST_BYTES: Readonly<Record<MediaType, number>> = {
  image: 5 * MB,
  document: 100 * MB,
  video: 16 * MB,
  audio: 16 * MB,
}

const WORDS: Readonly<Record<MediaType, string>> = {
  image: 'an image must be a JPEG or a PNG',
  document:
    'a document must be a text, a PDF, a file of Word, Excel or PowerPoint, or a picture, sound or video that WhatsApp takes',
  video: 'a video must be an MP4 or a 3GPP',
  audio: 'a sound must be AAC, AMR, MP3, M4A or Ogg with Opus',
}

/** Old Office files are one format to whoever looks at the bytes: what they hold, their name says. */
const OLD_OFFICE = 'application/x-cfb'
const OLD_OFFICE_MIMES: Readonly<Record<string, string>> = {
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
}

/** The MIME type that Meta is told of a file: as its bytes say, and where these leave it open, as its name says. */
export function mimeForNetwork({ name }: Pick<MediaContent, 'name'>, { mime }: Pick<MediaFile, 'mime'>): string {
  if (mime !== OLD_OFFICE) return mime
  const extension = /\.([a-z]{3})$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  return OLD_OFFICE_MIMES[extension] ?? mime
}

/** Null when Meta takes such a file for such a message; else why not, and what it takes. */
export function whyNotForNetwork(type: MediaType, media: Pick<MediaFile, 'mime' | 'sizeBytes'>): string | null {
  const { mime, sizeBytes } = media
  if (!allowedMimes(type).includes(mime)) return `WhatsApp does not take ${mime} here: ${WORDS[type]}.`
  if (sizeBytes > MOST_BYTES[type])
    return `WhatsApp takes ${type === 'audio' ? 'a sound' : `${type === 'image' ? 'an' : 'a'} ${type}`} of at most ${MOST_BYTES[type] / MB} MB (${MOST_BYTES[type]} bytes); this one has ${sizeBytes} bytes.`
  return sizeBytes === 0 ? 'WhatsApp takes no empty file.' : null
}

/** Whatever can be uploaded can be shown as a file, too. */
function allowedMimes(type: MediaType): readonly string[] {
  return type === 'document' ? Object.values(MIMES).flat() : MIMES[type]
}

const OPUS_HEAD = 'OpusHead'
const LOOKED_AT_BYTES = 512

/**
 * Ogg is a box, and only one sound in it is taken: Opus with one channel. Both stand in its first page, which is all that
 * is read. Null when it is that; else why not.
 */
export async function whyNotOpus(path: string): Promise<string | null> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOOKED_AT_BYTES), 0, LOOKED_AT_BYTES, 0)
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
