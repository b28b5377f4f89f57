import { Readable } from 'node:stream'
import type { OpenCopy } from '../../../core/ports/console/sandbox.ts'
import type { AccountRequest } from '../request-context.ts'
import { attachmentName } from './attachment-name.ts'

/**
 * Types that browsers show without running scripts. SVG is not among them: opened by its address, it would run the
 * scripts in it.
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

interface Sent {
  readonly name: string
  /** Called once when the reply has ended for any reason. */
  readonly onEnd: () => void
}

/**
 * Begins to write the copy as the reply. Its content is not trusted but served under our own address, so it must never
 * run as a page of ours: its type was found by its bytes, the browser may not guess another one, and even as a page it
 * could load and run nothing. Only pictures, video and sound are shown; everything else is saved as a file.
 */
export async function sendCopy(
  copy: OpenCopy,
  { name, onEnd }: Sent,
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
    onEnd()
    void reply.code(416).header('content-range', `bytes */${copy.sizeBytes}`).send('')
    return
  }
  const { from, to } = range ?? { from: 0, to: copy.sizeBytes - 1 }
  if (range) reply.code(206).header('content-range', `bytes ${from}-${to}/${copy.sizeBytes}`)
  reply.header('content-length', to - from + 1)
  // In byte mode: in object mode, 16 pieces would be buffered for a slow reader.
  const body = Readable.from(copy.read(from, to), { objectMode: false })
  // The event of the body, not of the reply: a client may have left while the file was opened.
  body.once('close', () => {
    void copy.close()
    onEnd()
  })
  void reply.send(body)
}

interface ByteRange {
  readonly from: number
  /** Included. */
  readonly to: number
}

/**
 * The part of a file that a `Range` header asks for. Null: all of it, also when the header names several parts or is
 * malformed, as the standard says. `outside`: no byte of the file is in the range.
 */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange | 'outside' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') return lastBytes(Number(last), sizeBytes)
  const [from, wantedTo] = [Number(first), last === '' ? Number.MAX_SAFE_INTEGER : Number(last)]
  if (wantedTo < from) return null
  return from < sizeBytes ? { from, to: Math.min(wantedTo, sizeBytes - 1) } : 'outside'
}

function lastBytes(count: number, sizeBytes: number): ByteRange | 'outside' {
  if (count === 0 || sizeBytes === 0) return 'outside'
  return { from: Math.max(0, sizeBytes - count), to: sizeBytes - 1 }
}
