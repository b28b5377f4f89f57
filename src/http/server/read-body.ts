import { GrowableBuffer } from './growable-buffer.ts'
import { problem } from './problem.ts'
import type { RequestContext } from './request-context.ts'

export interface BodyBounds {
  readonly maxBytes: number
  /**
   * Called for each piece before it is kept. False: what was kept is discarded, nothing more is kept, and `onBody` is not
   * called. The callback must then answer the request.
   */
  mayKeep?(receivedBytes: number, pieces: number): boolean
}

/**
 * Reads the request's body and calls back once with it, or with null when it is larger than the limit. Does not call
 * back when the body never ends: the request is then aborted.
 *
 * It calls back at the last byte: waiting for the stream's `end` costs two more turns of the event loop.
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
    // The connection ended while something else was awaited. Node reports a later end by itself.
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
