import type { Exchange } from './exchange.ts'
import { problem } from './problem.ts'

/**
 * Reads the request's body and calls back once with it, or with null when it is larger than the limit. Does not call
 * back when the body never comes to its end: then the exchange is broken off.
 *
 * The last byte is enough: waiting for the stream's own end, as others do, costs two more turns.
 */
export function readBody(exchange: Exchange, maxBytes: number, onBody: (body: Buffer | null) => void): void {
  const { request } = exchange
  const { 'content-length': lengthText, 'transfer-encoding': transferEncoding } = request.headers
  const length = transferEncoding === undefined ? Number(lengthText ?? 0) : null
  if (length === 0 || (length !== null && length > maxBytes)) {
    onBody(length === 0 ? Buffer.alloc(0) : null)
    return
  }
  if (request.destroyed) {
    // Only when something had to be waited for before: what ends later is noticed by whoever watches the connection.
    exchange.breakOff(problem('malformed_request', null, 'The connection ended before the request was read.'))
    return
  }
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false
    exchange.response.writeContinue()
  }
  let received: Buffer[] | null = []
  let receivedBytes = 0
  request.on('data', (chunk: Buffer) => {
    if (!received) return
    received.push(chunk)
    receivedBytes += chunk.length
    if (receivedBytes === length || receivedBytes > maxBytes) finish()
  })
  if (length === null) request.on('end', finish)

  function finish(): void {
    if (!received) return
    const chunks = received
    received = null
    if (receivedBytes > maxBytes) onBody(null)
    else onBody(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
  }
}
