import { createCipheriv, createHash, createHmac, hkdfSync } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { MediaType } from '../../../core/message/message.ts'

export interface FileSecret {
  readonly type: MediaType
  /** 32 random bytes, for this file alone. */
  readonly mediaKey: Buffer
}

export interface FileDigests {
  readonly fileSha256: Buffer
  /** The hash of the encrypted file. */
  readonly fileEncSha256: Buffer
  readonly fileLength: number
}

const INFO: Readonly<Record<MediaType, string>> = {
  image: 'WhatsApp Image Keys',
  video: 'WhatsApp Video Keys',
  audio: 'WhatsApp Audio Keys',
  document: 'WhatsApp Document Keys',
}
const BLOCK_BYTES = 16
const MAC_BYTES = 10

/** The size of a file once it is encrypted: whole blocks, of which at least one byte is padding, and the MAC. */
export function encryptedSize(sizeBytes: number): number {
  return (Math.floor(sizeBytes / BLOCK_BYTES) + 1) * BLOCK_BYTES + MAC_BYTES
}

/** Reads the file as WhatsApp encrypts it, without a copy. The same secret gives the same bytes. */
export async function* encryptFile(
  path: string,
  { type, mediaKey }: FileSecret,
  onEnd: (digests: FileDigests) => void = () => {},
): AsyncGenerator<Buffer, void, undefined> {
  const derived = Buffer.from(hkdfSync('sha256', mediaKey, Buffer.alloc(0), INFO[type], 112))
  const [iv, cipherKey, macKey] = [derived.subarray(0, 16), derived.subarray(16, 48), derived.subarray(48, 80)]
  const cipher = createCipheriv('aes-256-cbc', cipherKey, iv)
  const mac = createHmac('sha256', macKey).update(iv)
  const [plain, encrypted] = [createHash('sha256'), createHash('sha256')]
  let fileLength = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    plain.update(chunk)
    fileLength += chunk.length
    const sealed = cipher.update(chunk)
    mac.update(sealed)
    encrypted.update(sealed)
    yield sealed
  }
  const last = cipher.final()
  const end = Buffer.concat([last, mac.update(last).digest().subarray(0, MAC_BYTES)])
  encrypted.update(end)
  yield end
  onEnd({ fileSha256: plain.digest(), fileEncSha256: encrypted.digest(), fileLength })
}

/** Encrypts the file once and keeps nothing of it: the address of the upload contains the digest of what is uploaded. */
export async function digestFile(path: string, secret: FileSecret, signal: AbortSignal): Promise<FileDigests> {
  const { promise, resolve } = Promise.withResolvers<FileDigests>()
  for await (const _ of encryptFile(path, secret, resolve)) signal.throwIfAborted()
  return promise
}
