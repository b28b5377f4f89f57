import { createDecipheriv, createHash, createHmac, hkdfSync } from 'node:crypto'
import type { AttachmentProto, MessageProto } from './library.ts'

/** A file that the owner of a phone can open. */
export interface ReceivedFile {
  readonly type: string
  readonly bytes: Buffer
  readonly attachment: AttachmentProto
}

const MAC_BYTES = 10
const KINDS = [
  ['image', 'Image', 'imageMessage'],
  ['video', 'Video', 'videoMessage'],
  ['audio', 'Audio', 'audioMessage'],
  ['document', 'Document', 'documentMessage'],
] as const

/** Downloads and decrypts the file of a message, as a phone does. Null if it has none. Throws if the file cannot be opened. */
export function openFile(message: MessageProto, download: (directPath: string) => Buffer | null): ReceivedFile | null {
  for (const [type, words, field] of KINDS) {
    const attachment = message[field]
    if (attachment) return { type, bytes: decrypt(attachment, words, download), attachment }
  }
  return null
}

function decrypt(attachment: AttachmentProto, words: string, download: (directPath: string) => Buffer | null): Buffer {
  const encrypted = download(attachment.directPath)
  if (!encrypted) throw new Error('its file is not there')
  refuseOther(encrypted, attachment.fileEncSha256, 'the encrypted file')
  const keys = Buffer.from(hkdfSync('sha256', attachment.mediaKey, Buffer.alloc(0), `WhatsApp ${words} Keys`, 112))
  const [iv, sealed] = [keys.subarray(0, 16), encrypted.subarray(0, -MAC_BYTES)]
  const mac = createHmac('sha256', keys.subarray(48, 80)).update(iv).update(sealed).digest().subarray(0, MAC_BYTES)
  if (!mac.equals(encrypted.subarray(-MAC_BYTES))) throw new Error('its file has a wrong MAC')
  const decipher = createDecipheriv('aes-256-cbc', keys.subarray(16, 48), iv)
  const bytes = Buffer.concat([decipher.update(sealed), decipher.final()])
  refuseOther(bytes, attachment.fileSha256, 'the file')
  if (Number(attachment.fileLength) !== bytes.length) throw new Error('its file has another length')
  return bytes
}

function refuseOther(bytes: Buffer, digest: Uint8Array, what: string): void {
  if (!createHash('sha256').update(bytes).digest().equals(digest)) throw new Error(`${what} has another digest`)
}
