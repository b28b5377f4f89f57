import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { GraphBody } from './graph-client.ts'

const CHUNK_BYTES = 256 * 1024

interface FilePart {
  readonly file: FileHandle
  readonly sizeBytes: number
  readonly mime: string
}

/** A form with one file that is streamed from the disk, so that a large one costs no memory. */
export function multipartBody(fields: Readonly<Record<string, string>>, part: FilePart): GraphBody {
  const boundary = `nuncio-${randomBytes(16).toString('hex')}`
  const head = [
    ...Object.entries(fields).map(
      ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    ),
    // A name of ours: what the recipient sees as the name is part of the message.
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="attachment"\r\ncontent-type: ${part.mime}\r\n\r\n`,
  ].join('')
  const tail = `\r\n--${boundary}--\r\n`
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    lengthBytes: Buffer.byteLength(head) + part.sizeBytes + Buffer.byteLength(tail),
    content: pieces(head, part, tail),
  }
}

async function* pieces(head: string, { file, sizeBytes }: FilePart, tail: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(head)
  let position = 0
  while (position < sizeBytes) {
    const length = Math.min(CHUNK_BYTES, sizeBytes - position)
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, position)
    // The file got shorter under our hands: without the rest the length that was promised is wrong, and the call fails.
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
  yield Buffer.from(tail)
}
