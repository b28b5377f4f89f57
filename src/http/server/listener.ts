import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { AddressRange } from '../../core/media-address/ip-address.ts'
import { answerBrokenRequest } from './broken-request.ts'
import { PerClientConnectionLimit } from './per-client-connection-limit.ts'
import { mayPipeline } from './pipelining.ts'
import { withoutPublicPath } from './public-path.ts'
import { findRepeatedHeaders } from './repeated-headers.ts'
import { latestContext, RequestContext } from './request-context.ts'
import { validateRequest } from './request-validation.ts'
import type { ServerState } from './server-state.ts'
import { isTrusted } from './source-address.ts'
import { LEAST_TLS, type TlsIdentity } from './tls-identity.ts'

// Long enough for a caller's next request, short enough that idle strangers do not fill the table of connections.
const KEEP_ALIVE_DIRECT_MS = 5000
// Longer than common proxies keep idle connections to us (60 s). Otherwise they would send a request into a
// connection that we are just closing, and tell the caller 502.
const KEEP_ALIVE_BEHIND_PROXY_MS = 75_000

interface ListenerOptions {
  readonly trustedProxies: readonly AddressRange[]
  /** Null: plain HTTP. */
  readonly tls: TlsIdentity | null
  /** What stands in front of every path of ours; empty: nothing. */
  readonly publicPath: string
}

/**
 * Node's HTTP server, with everything switched on or added that its defaults leave open. Whoever gets through here
 * has a well-framed request of one meaning.
 */
export function createListener(
  state: ServerState,
  { trustedProxies, tls, publicPath }: ListenerOptions,
  route: (context: RequestContext) => void,
): Server | TlsServer {
  const { limits } = state
  const options: ServerOptions = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    keepAliveTimeout:
      limits.keepAliveMs ?? (trustedProxies.length > 0 ? KEEP_ALIVE_BEHIND_PROXY_MS : KEEP_ALIVE_DIRECT_MS),
    maxHeaderSize: limits.maxBrowserHeaderBytes,
    // We look for it ourselves: Node's refusal would have no body and no request id.
    requireHostHeader: false,
  }
  const server = tls ? openTls(options, tls) : createServer(options)
  // Node would drop the headers beyond a limit and go on without them. `checkFraming` refuses instead.
  server.maxHeadersCount = 0
  server.maxConnections = limits.maxConnections
  // A caller may end its side once it has sent its request, and wait for the reply all the same.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Among several processes one that is full would hand the connection on, and all of them in a circle for ever.
  Object.assign(server, { dropMaxConnection: true })

  function receive(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    // What follows on a connection that is to end is not looked at: it may be the smuggled half of a bad request.
    const latest = latestContext(request.socket)
    if (latest?.endsConnection) return
    if (publicPath !== '') request.url = withoutPublicPath(request.url ?? '', publicPath)
    const context = new RequestContext(state, request, response)
    if (latest && !latest.response.writableFinished && !mayPipeline(context, latest)) return
    context.awaitsContinue = awaitsContinue
    context.repeatedHeaders = findRepeatedHeaders(request.rawHeaders)
    try {
      const flaw = validateRequest(context)
      if (flaw) context.abort(flaw)
      else route(context)
    } catch (error) {
      context.fail(error)
    }
  }

  server.on('request', (request, response) => receive(request, response, false))
  server.on('checkContinue', (request, response) => receive(request, response, true))
  server.on('checkExpectation', (request, response) => receive(request, response, true))
  server.on('clientError', (error: Error, socket: Socket) => {
    // Before there is a common secret nothing that we say could be read.
    if (tls && !isHandshakeDone(socket)) socket.destroy()
    else answerBrokenRequest(state, error, socket)
  })
  const clientLimit = new PerClientConnectionLimit({
    most: limits.maxConnectionsOfCaller,
    isProxy: (address) => isTrusted(address, trustedProxies),
  })
  // Ahead of Node's own listener, which begins to read.
  server.prependListener('connection', (socket: Socket) => {
    if (clientLimit.take(socket)) return
    socket.destroy()
    state.observer.connectionDropped()
  })
  server.on('drop', () => state.observer.connectionDropped())
  return server
}

const HANDSHAKE_DONE = Symbol('hands shaken')

function openTls(options: ServerOptions, { cert, key }: TlsIdentity): TlsServer {
  const server = createTlsServer({
    ...options,
    cert,
    key,
    minVersion: LEAST_TLS,
    // It comes before the headers, and whoever is slow with it takes a place as well.
    handshakeTimeout: options.headersTimeout ?? 0,
    // A caller may end its side and wait, as in the clear.
    allowHalfOpen: true,
  } as Parameters<typeof createTlsServer>[0])
  // Ahead of Node's own listener, which begins to read requests.
  server.prependListener('secureConnection', (socket) => Object.assign(socket, { [HANDSHAKE_DONE]: true }))
  // Node's parser would take what is decrypted straight from below, and not be asked whether it is paused: where many
  // requests came at once, those behind a pause would be refused as broken. Whoever else listens ends that.
  server.on('secureConnection', (socket) => socket.on('data', () => {}))
  return server
}

function isHandshakeDone(socket: Socket): boolean {
  return HANDSHAKE_DONE in socket
}
