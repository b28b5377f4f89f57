import { GrowableBuffer } from './growable-buffer.ts'
import { problem } from './problem.ts'
import type { RequestContext } from './request-context.ts'

export interface BodyBounds {
  readonly maxBytes: number
  /**
   * Asked about each piece before it is kept. False: what came before is let go, nothing more is kept, and `onBody` is
   * not called; answering is up to whoever said so.
   */
  mayKeep?(receivedBytes: number, pieces: number): boolean
}

/**
 * Reads the request's body and calls back once with it, or with null when it is larger than the limit. Does not call
 * back when the body never comes to its end: then the exchange is broken off.
 *
 * The last byte is enough: waiting for the stream's own end, as others do, costs two more turns.
 */
export function readBody(context: RequestContext, bounds: BodyBounds, onBody: (body: Buffer | null) => void): void {
  const { request } = context
  const { maxBytes } = bounds
  const { 'content-length': lengthText, 'transfer-encoding': transferEncoding } = request.headers
  const length = transferEncoding === undefined ? Number(lengthText ?? 0) : null
  if (length === 0 || (length !== null && length > maxBytes)) {
    onBody(length === 0 ? Buffer.alloc(0) : null)
    return
  }
  if (request.destroyed) {
    // Only when something had to be waited for before: what ends later is noticed by whoever watches the connection.
    context.abort(problem('malformed_request', null, 'The connection ended before the request was read.'))
    return
  }
  if (context.awaitsContinue) {
    context.awaitsContinue = false
    context.response.writeContinue()
  }
  let received: GrowableBuffer | null = new GrowableBuffer(length ?? maxBytes)
  let receivedBytes = 0
  let pieces = 0
  request.on('data', (piece: Buffer) => {
    if (!received) return
    receivedBytes += piece.length
    pieces += 1
    if (receivedBytes > maxBytes) finish(null)
    else if (bounds.mayKeep?.(receivedBytes, pieces) === false) received = null
    else {
      received.add(piece)
      if (receivedBytes === length) finish(received)
    }
  })
  if (length === null) request.on('end', () => finish(received))

  function finish(whole: GrowableBuffer | null): void {
    if (!received) return
    received = null
    onBody(whole?.joined() ?? null)
  }
}
