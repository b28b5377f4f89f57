import type { MediaType } from '../core/message/message.ts'
import { MediaProblem, quote } from './media-problem.ts'
import { tooBig } from './too-big.ts'

// All codings that compress. Hosts send other words, such as `binary` and `utf-8`, for files that are not compressed.
const CODINGS: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'compress'])

interface Announcement {
  header(name: string): string | null
}

/** Checks the headers that describe the body. Null when the body may be read. */
export function checkHeaders(
  response: Announcement,
  { type, capBytes }: { readonly type: MediaType; readonly capBytes: number },
): MediaProblem | null {
  // We ask for no coding and decompress none, because 50 KB can become gigabytes. A compressed file would be kept compressed.
  const coding = response.header('content-encoding')
  if (coding !== null && listOf(coding).some((name) => CODINGS.has(name))) {
    return new MediaProblem(
      'media_protocol',
      `The media host compressed the file (${quote(coding)}), though asked not to.`,
    )
  }
  const transfer = response.header('transfer-encoding')
  if (transfer !== null && listOf(transfer).some((name) => name !== 'chunked')) {
    return new MediaProblem(
      'media_protocol',
      `The media host used the transfer coding ${quote(transfer)}; only chunked is read.`,
    )
  }
  const length = response.header('content-length')
  if (length === null) return null
  if (!/^\d+$/.test(length))
    return new MediaProblem('media_protocol', `The media host sent the length ${quote(length)}.`)
  if (Number(length) > capBytes) return tooBig({ type, sizeBytes: Number(length), capBytes })
  return null
}

/** The names in a header, without empty ones. */
function listOf(header: string): readonly string[] {
  const names = header.split(',').map((name) => name.trim().toLowerCase())
  return names.filter((name) => name !== '')
}
