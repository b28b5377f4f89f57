import { Readable } from 'node:stream'
import type { AccountRequest } from './request-context.ts'

const BUFFERED_BYTES = 65_536

interface Download {
  /** The name of the file, without the time and the extension. */
  readonly name: string
  readonly extension: string
  readonly type: string
  readonly lines: AsyncIterable<string>
  /** Called once when the download has ended for any reason. */
  readonly onEnd: () => void
}

/** Streams a file of lines as fast as the client reads. */
export function sendLines(
  { name, extension, type, lines, onEnd }: Download,
  { now, reply }: Pick<AccountRequest, 'now' | 'reply'>,
): void {
  const body = Readable.from(lines, { objectMode: false, highWaterMark: BUFFERED_BYTES })
  body.once('close', onEnd)
  const at = new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')
  void reply
    .header('content-type', type)
    .header('content-disposition', `attachment; filename="${name}-${at}.${extension}"`)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .send(body)
}
