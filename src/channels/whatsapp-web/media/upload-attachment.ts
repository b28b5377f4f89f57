import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { MediaContent, MediaFile } from '../../../core/message/message.ts'
import type { Failure } from '../../../core/ports/channel.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { GuardedCall } from '../../../core/ports/guarded-call.ts'
import type { MediaHosts } from '../thread/messages.ts'
import { digestFile } from './encrypt-file.ts'
import { readPictureFacts } from './picture-facts.ts'
import { type FileEnds, readSoundSeconds } from './sound-seconds.ts'
import { type UploadEnd, type UploadFrom, uploadFile } from './upload-file.ts'

export interface AttachmentParts {
  readonly guarded: GuardedCall
  readonly clock: Clock
  /** True against the simulator alone. */
  readonly isLoopbackTaken: boolean
  /** Asks WhatsApp where files go; `isFresh`: what it said before was refused. */
  mediaHosts(isFresh: boolean): Promise<MediaHosts>
}

/** A field of WhatsApp’s message, such as `imageMessage`, with what recipients need to download and open the file. */
type AttachmentMessage = Readonly<Record<string, Readonly<Record<string, unknown>>>>

type Uploaded =
  | { readonly kind: 'uploaded'; readonly message: AttachmentMessage }
  | { readonly kind: 'failed'; readonly failure: Failure }

// Enough for the data that cameras and programs put before the size of a picture.
const HEAD_BYTES = 262_144
const TAIL_BYTES = 65_536

/**
 * Encrypts the attachment from the spool and uploads it; rejects when the spool cannot be read. Repeating it is harmless: it makes
 * another upload, with another key.
 */
export async function uploadAttachment(
  parts: AttachmentParts,
  { content, media }: { readonly content: MediaContent; readonly media: MediaFile },
  signal: AbortSignal,
): Promise<Uploaded> {
  try {
    const secret = { type: content.type, mediaKey: randomBytes(32) }
    const ends = await readEnds(media)
    const digests = await digestFile(media.path, secret, signal)
    const file: UploadFrom = { path: media.path, sizeBytes: media.sizeBytes, secret, digests }
    const end = await uploadWithFreshToken(parts, file, signal)
    if (end.kind !== 'uploaded') return { kind: 'failed', failure: failureOf(end) }
    const { url, directPath } = end
    const mediaKeyTimestamp = Math.floor(parts.clock.now() / 1000)
    const access = { url, directPath, mediaKey: secret.mediaKey, mediaKeyTimestamp, mimetype: media.mime, ...digests }
    return { kind: 'uploaded', message: describe({ content, access, ends }) }
  } catch (error) {
    if (signal.aborted) return { kind: 'failed', failure: transient('call_interrupted', null) }
    if (isGone(error)) return { kind: 'failed', failure: transient('media_lost', null) }
    throw error
  }
}

async function uploadWithFreshToken(parts: AttachmentParts, file: UploadFrom, signal: AbortSignal): Promise<UploadEnd> {
  const { guarded, isLoopbackTaken } = parts
  const upload = async (isFresh: boolean): Promise<UploadEnd> => {
    const to = await parts.mediaHosts(isFresh).catch(() => null)
    signal.throwIfAborted()
    return to
      ? uploadFile(guarded, { file, to, isLoopbackTaken }, signal)
      : { kind: 'unreachable', words: 'WhatsApp did not say where files go' }
  }
  const end = await upload(false)
  return end.kind === 'token-refused' ? upload(true) : end
}

interface Described {
  readonly content: MediaContent
  readonly access: Readonly<Record<string, unknown>>
  readonly ends: FileEnds
}

function describe({ content, access, ends }: Described): AttachmentMessage {
  const caption = content.caption === null ? {} : { caption: content.caption }
  switch (content.type) {
    case 'image': {
      const facts = readPictureFacts(ends.head)
      const size = facts ? { width: facts.width, height: facts.height } : {}
      const thumbnail = facts?.thumbnail ? { jpegThumbnail: facts.thumbnail } : {}
      return { imageMessage: { ...access, ...caption, ...size, ...thumbnail } }
    }
    case 'video':
      return { videoMessage: { ...access, ...caption } }
    case 'audio': {
      const seconds = readSoundSeconds(ends)
      return { audioMessage: { ...access, ptt: false, ...(seconds === null ? {} : { seconds }) } }
    }
    case 'document':
      return { documentMessage: { ...access, ...caption, fileName: content.name, title: content.name } }
  }
}

/** What stands at both ends of the file, where its facts are. */
async function readEnds({ path, sizeBytes }: MediaFile): Promise<FileEnds> {
  const file = await open(path, 'r')
  try {
    const read = async (bytes: number, at: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, at)
      return buffer.subarray(0, bytesRead)
    }
    const head = await read(Math.min(HEAD_BYTES, sizeBytes), 0)
    const tail = await read(Math.min(TAIL_BYTES, sizeBytes), Math.max(0, sizeBytes - TAIL_BYTES))
    return { head, tail, sizeBytes }
  } finally {
    await file.close()
  }
}

function failureOf(end: Exclude<UploadEnd, { kind: 'uploaded' }>): Failure {
  switch (end.kind) {
    case 'too-big':
      return { ...transient('media_too_big', 'The file is larger than WhatsApp takes.'), class: 'permanent' }
    case 'token-refused':
      return { ...transient('network_error', 'WhatsApp rejected the upload twice'), suspectsNetwork: true }
    case 'unreachable':
      return { ...transient('network_error', end.words), suspectsNetwork: true }
  }
}

function transient(code: Failure['code'], words: string | null): Failure {
  return { class: 'transient', code, words, suspectsNetwork: false, retryAfterMs: null }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
