import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { answerBrokenRequest } from './broken-request.ts'
import { Exchange, latestExchange } from './exchange.ts'
import { judgeFraming } from './framing.ts'
import { findRepeatedHeaders } from './repeated-headers.ts'
import type { ServerState } from './server-state.ts'

// Long enough for a caller's next request, short enough that idle strangers do not fill the table of connections.
const KEEP_ALIVE_DIRECT_MS = 5000
// Longer than common proxies keep idle connections to us (60 s). Otherwise they would send a request into a
// connection that we are just closing, and tell the caller 502.
const KEEP_ALIVE_BEHIND_PROXY_MS = 75_000

/**
 * Node's HTTP server, with everything switched on or added that its defaults leave open. Whoever gets through here
 * has a well-framed request of one meaning.
 */
export function createFrontDoor(
  state: ServerState,
  isBehindProxy: boolean,
  admit: (exchange: Exchange) => void,
): Server {
  const { limits } = state
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    keepAliveTimeout: limits.keepAliveMs ?? (isBehindProxy ? KEEP_ALIVE_BEHIND_PROXY_MS : KEEP_ALIVE_DIRECT_MS),
    maxHeaderSize: limits.maxHeaderBytes,
    // We look for it ourselves: Node's refusal would have no body and no request id.
    requireHostHeader: false,
  })
  // Node would drop the headers beyond a limit and go on without them. `judgeFraming` refuses instead.
  server.maxHeadersCount = 0
  server.maxConnections = limits.maxConnections
  // A caller may end its side once it has sent its request, and wait for the reply all the same.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Among several processes one that is full would hand the connection on, and all of them in a circle for ever.
  Object.assign(server, { dropMaxConnection: true })

  function receive(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    // What follows on a connection that is to end is not looked at: it may be the smuggled half of a bad request.
    if (latestExchange(request.socket)?.endsConnection) return
    const exchange = new Exchange(state, request, response)
    exchange.awaitsContinue = awaitsContinue
    exchange.repeatedHeaders = findRepeatedHeaders(request.rawHeaders)
    try {
      const flaw = judgeFraming(exchange)
      if (flaw) exchange.breakOff(flaw)
      else admit(exchange)
    } catch (error) {
      exchange.fail(error)
    }
  }

  server.on('request', (request, response) => receive(request, response, false))
  server.on('checkContinue', (request, response) => receive(request, response, true))
  server.on('checkExpectation', (request, response) => receive(request, response, true))
  server.on('clientError', (error, socket) => answerBrokenRequest(state, error, socket as Socket))
  server.on('drop', () => state.observer.connectionDropped())
  return server
}
