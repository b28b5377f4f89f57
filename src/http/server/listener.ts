import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { AddressRange } from '../../core/media-address/ip-address.ts'
import { answerBrokenRequest } from './broken-request.ts'
import { MAX_BODY_BYTES } from './http-limits.ts'
import { pauseSocket } from './pause-socket.ts'
import { PerClientConnectionLimit } from './per-client-connection-limit.ts'
import { withoutPublicPath } from './public-path.ts'
import { findRepeatedHeaders } from './repeated-headers.ts'
import { latestContext, RequestContext } from './request-context.ts'
import { validateRequest } from './request-validation.ts'
import type { ServerState } from './server-state.ts'
import { isTrusted } from './source-address.ts'
import { LEAST_TLS, type TlsIdentity } from './tls-identity.ts'

// Long enough for a caller's next request, short enough that idle connections do not use up the limit.
const KEEP_ALIVE_DIRECT_MS = 5000
// Longer than common proxies keep idle connections to us (60 s). Otherwise a proxy could send a request on a
// connection that we are just closing, and answer 502 to its caller.
const KEEP_ALIVE_BEHIND_PROXY_MS = 75_000

interface ListenerOptions {
  readonly trustedProxies: readonly AddressRange[]
  /** Null: plain HTTP. */
  readonly tls: TlsIdentity | null
  /** The prefix of all our paths; empty: none. */
  readonly publicPath: string
}

/**
 * Node's HTTP server with the limits and checks that its defaults leave out. A request that reaches `route` is well
 * framed and has one meaning.
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
    // `validateRequest` checks it: Node's refusal would have no body and no request id.
    requireHostHeader: false,
  }
  const server = tls ? openTls(options, tls) : createServer(options)
  // Node would drop the headers beyond its limit and continue without them. `validateRequest` refuses instead.
  server.maxHeadersCount = 0
  server.maxConnections = limits.maxConnections
  // A caller may end its side once it has sent its request, and still wait for the reply.
  Object.assign(server, { httpAllowHalfOpen: true })
  // In a cluster a full process would pass the connection to another one, and full processes would do so for ever.
  Object.assign(server, { dropMaxConnection: true })

  function receive(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    // Ignore what follows on a connection that is about to end: it may be the smuggled half of a bad request.
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
    // Before the handshake is done the caller could not read a reply.
    if (tls && !isHandshakeDone(socket)) socket.destroy()
    else answerBrokenRequest(state, error, socket)
  })
  const clientLimit = new PerClientConnectionLimit({
    most: limits.maxConnectionsOfCaller,
    isProxy: (address) => isTrusted(address, trustedProxies),
  })
  // Before Node's own listener, which begins to read.
  server.prependListener('connection', (socket: Socket) => {
    if (clientLimit.take(socket)) return
    socket.destroy()
    state.observer.connectionDropped()
  })
  server.on('drop', () => state.observer.connectionDropped())
  return server
}

const HANDSHAKE_DONE = Symbol('handshake done')

function openTls(options: ServerOptions, { cert, key }: TlsIdentity): TlsServer {
  const server = createTlsServer({
    ...options,
    cert,
    key,
    minVersion: LEAST_TLS,
    // It comes before the headers, and a slow handshake uses up a connection, too.
    handshakeTimeout: options.headersTimeout ?? 0,
    // A caller may end its side and wait, as over plain HTTP.
    allowHalfOpen: true,
  } as Parameters<typeof createTlsServer>[0])
  // Before Node's own listener, which begins to read requests.
  server.prependListener('secureConnection', (socket) => Object.assign(socket, { [HANDSHAKE_DONE]: true }))
  // Without another listener Node's parser reads decrypted data directly and ignores a pause: of many requests that come
  // at once, those after the pause would be refused as broken.
  server.on('secureConnection', (socket) => socket.on('data', () => {}))
  return server
}

function isHandshakeDone(socket: Socket): boolean {
  return HANDSHAKE_DONE in socket
}

// With this many requests waiting, the connection is paused until they are answered.
const PAUSE_FROM = 100
// Two of the largest bodies, hundreds of usual ones. A hundred of the largest on each of a thousand connections would
// be gigabytes for one caller.
const PAUSE_FROM_BYTES = 2 * MAX_BODY_BYTES
// One read brings 64 KB: some 250 requests that send a message, so such callers never reach this. If they are as short as
// possible, it brings thousands, and each costs some kilobytes until the replies before it have been read.
const MOST_WAITING = 400

/**
 * Checks a request that comes while the one before it waits for its reply. False when there are too many: the connection
 * has then been ended.
 */
function mayPipeline(context: RequestContext, latest: RequestContext): boolean {
  const { socket } = context.request
  const waiting = context.queueBehind(latest)
  if (waiting.requests > MOST_WAITING) {
    context.endsConnection = true
    socket.destroy()
    return false
  }
  // Until the previous request is answered, whose body has arrived: this one's body may still wait for `100 Continue`.
  if (waiting.requests > PAUSE_FROM || waiting.bodyBytes > PAUSE_FROM_BYTES)
    latest.response.once('close', pauseSocket(socket))
  return true
}
