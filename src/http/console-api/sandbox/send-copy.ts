import { Readable } from 'node:stream'
import type { OpenCopy } from '../../../core/ports/console/sandbox.ts'
import type { AccountRequest } from '../request-context.ts'
import { attachmentName } from './attachment-name.ts'
import { readRange } from './read-range.ts'

/**
 * What browsers show without running anything that is in it. An SVG image is not among them: it may hold scripts, and
 * whoever opens it by its address would run them.
 */
const SHOWN_INLINE: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
  'image/bmp',
  'video/mp4',
  'video/3gpp',
  'video/quicktime',
  'video/webm',
  'video/ogg',
  'audio/aac',
  'audio/amr',
  'audio/amr-wb',
  'audio/mpeg',
  'audio/mp4',
  'audio/ogg',
  'audio/wav',
  'audio/flac',
])

/**
 * Begins to write the copy as the reply. It was made by strangers and leaves under our own address, so it must never become a page
 * of ours: what it is was found by its bytes, the browser may not guess otherwise, and even as a page it could load and
 * run nothing. Only pictures, films and sound are shown; all else is saved as a file.
 */
export async function sendCopy(
  copy: OpenCopy,
  name: string,
  { request, reply }: Pick<AccountRequest, 'request' | 'reply'>,
): Promise<void> {
  const isShown = SHOWN_INLINE.has(copy.mime)
  reply.headers({
    'content-type': isShown ? copy.mime : 'application/octet-stream',
    'content-disposition': `${isShown ? 'inline' : 'attachment'}; ${attachmentName(name)}`,
    'content-security-policy': `sandbox; default-src 'none'`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
    'accept-ranges': 'bytes',
  })
  const range = readRange(request.headers.range, copy.sizeBytes)
  if (range === 'outside') {
    await copy.close()
    void reply.code(416).header('content-range', `bytes */${copy.sizeBytes}`).send('')
    return
  }
  const { from, to } = range ?? { from: 0, to: copy.sizeBytes - 1 }
  if (range) reply.code(206).header('content-range', `bytes ${from}-${to}/${copy.sizeBytes}`)
  reply.header('content-length', to - from + 1)
  // By bytes: as objects, 16 pieces would wait for a slow reader.
  const body = Readable.from(copy.read(from, to), { objectMode: false })
  // A reader who leaves before it has begun would otherwise leave the file open.
  body.once('close', () => void copy.close())
  void reply.send(body)
}
