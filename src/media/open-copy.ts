import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { MessageId } from '../core/ids.ts'
import type { OpenCopy } from '../core/ports/console/sandbox.ts'
import { readTracks } from './iso-tracks.ts'
import { HEAD_BYTES, sniffType } from './sniff-type.ts'

const PIECE_BYTES = 256 * 1024

// The form of our message ids. Only such an id becomes part of a path, so no path leads out of the folder.
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The copy of the file that was delivered with this message, from the folder of the sandbox. Null when there is none (any more). */
export async function openCopy(folder: string, messageId: MessageId): Promise<OpenCopy | null> {
  if (!ID.test(messageId)) return null
  const file = await open(join(folder, messageId), 'r').catch(() => null)
  if (!file) return null
  try {
    const facts = await file.stat()
    if (facts.isFile()) return new FileCopy(file, facts.size, await sniff(file, facts.size))
  } catch {
    // An unreadable copy counts as missing.
  }
  await file.close()
  return null
}

/** According to its current bytes. A recording in an MP4 file is sound. */
async function sniff(file: FileHandle, sizeBytes: number): Promise<string> {
  const read = (position: number, length: number) => readAt(file, position, length)
  const { mime } = sniffType(await read(0, HEAD_BYTES))
  if (mime !== 'video/mp4') return mime
  const tracks = await readTracks(read, sizeBytes)
  return tracks?.hasSound && !tracks.hasPicture ? 'audio/mp4' : mime
}

class FileCopy implements OpenCopy {
  readonly sizeBytes: number
  readonly mime: string
  readonly #file: FileHandle
  #isClosed = false

  constructor(file: FileHandle, sizeBytes: number, mime: string) {
    this.#file = file
    this.sizeBytes = sizeBytes
    this.mime = mime
  }

  async *read(from: number, to: number): AsyncGenerator<Uint8Array> {
    try {
      for (let position = from; position <= to; ) {
        const piece = await readAt(this.#file, position, Math.min(PIECE_BYTES, to - position + 1))
        // The file has become shorter: the reader must get an error, because the rest does not come.
        if (piece.length === 0) throw new Error('The copy ended before it was read')
        yield piece
        position += piece.length
      }
    } finally {
      await this.close()
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#file.close()
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const buffer = Buffer.alloc(length)
  const { bytesRead } = await file.read(buffer, 0, length, position)
  return buffer.subarray(0, bytesRead)
}
