import type { IncomingMessage } from 'node:http'
import { type Problem, problem } from './problem.ts'
import { isAmong, type SingleHeader } from './repeated-headers.ts'
import type { RequestContext } from './request-context.ts'

// When one of these is repeated, a proxy in front may use the other value. Then it disagrees with us about where a
// request ends or which host it is for, and one caller's bytes could become another caller's request.
const FRAMING_HEADERS: readonly SingleHeader[] = ['host', 'content-length', 'transfer-encoding', 'expect']

/**
 * Refuses ambiguous requests that Node's parser accepts. Null: nothing is wrong. A request that is refused here ends its
 * connection, because what follows on it cannot be trusted.
 */
export function validateRequest({ request, repeatedHeaders, server }: RequestContext): Problem | null {
  if (request.httpVersionMajor !== 1) return problem('http_version_unsupported')
  if (request.rawHeaders.length > 2 * server.limits.maxHeaders) {
    return problem('headers_too_large', null, `The request has more than ${server.limits.maxHeaders} headers.`)
  }
  if (headerBytesOf(request) > server.limits.maxHeaderBytes && !isOfBrowsers(request.url)) {
    return problem('headers_too_large')
  }
  if (repeatedHeaders !== 0) {
    const repeated = FRAMING_HEADERS.find((name) => isAmong(repeatedHeaders, name))
    if (repeated) return problem('header_repeated', repeated)
  }
  const { host, expect, 'transfer-encoding': transferEncoding } = request.headers
  const isHttp11 = request.httpVersionMinor === 1
  if (host === undefined && isHttp11) return problem('malformed_request', 'host', 'The header Host is missing.')
  if (transferEncoding !== undefined && (!isHttp11 || transferEncoding.toLowerCase() !== 'chunked')) {
    return problem('transfer_encoding_unsupported', 'transfer-encoding')
  }
  if (expect !== undefined && isHttp11 && expect.toLowerCase() !== '100-continue') {
    return problem('expectation_unsupported', 'expect')
  }
  return null
}

/** Request line and headers as received: each header has four characters besides its name and value. */
function headerBytesOf({ method = '', url = '', rawHeaders }: IncomingMessage): number {
  let bytes = method.length + url.length + ' HTTP/1.1\r\n\r\n'.length + 2 * rawHeaders.length
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

function isOfBrowsers(url = ''): boolean {
  return url === '/' || /^\/(?:console|docs)(?:[/?]|$)/.test(url)
}
