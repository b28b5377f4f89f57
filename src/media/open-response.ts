import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Client } from 'undici'
import type { CheckedUrl } from '../core/media-address/check-url.ts'
import { durationText } from '../format/durations.ts'
import type { Dial } from './dial.ts'
import { explainBrokenExchange } from './explain-broken-exchange.ts'
import { MediaProblem } from './media-problem.ts'
import { MeteredConnection } from './metered-connection.ts'

export interface OpenResponse {
  /** The host that answered. */
  readonly host: string
  readonly status: number
  /** The value of a header; several of one name are joined with a comma. Null when absent. */
  header(name: string): string | null
  readonly body: Readable
  /** Holds the host back, and counts all received bytes: headers, framing and content, after decryption. */
  readonly connection: Pick<MeteredConnection, 'hold' | 'release' | 'receivedBytes'>
  /** Explains an error of the body stream. */
  explain(error: unknown): MediaProblem
  /** Ends the connection. May be called twice, or with the body half read. */
  close(): void
}

export interface RequestRules {
  readonly dial: Dial
  readonly headersMs: number
  readonly userAgent: string
}

/** Signed URLs and cookies make long headers, but not this long. The parser keeps all headers in memory. */
const MAX_HEADER_BYTES = 16 * 1024
/** Early hints come once or twice. A host that sends more keeps the connection busy without answering. */
const MOST_INTERIM_RESPONSES = 8
/** Limits all received bytes: the parser does not count everything, such as the text beside the status. */
const MOST_BYTES_BEFORE_BODY = 256 * 1024

/** What is sent; a file is opened once the connection is there. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | (() => Readable) | null
  /** See `CallLimits`. */
  readonly mayBegin?: () => boolean
}

const PLAIN_GET: Request = { method: 'GET', headers: {}, body: null }

/**
 * Sends one request over a connection of its own and returns once the headers have arrived.
 *
 * Each request has a new connection, so that no state of one account's fetch (cookies, a kept-alive socket, a TLS session)
 * can reach another's. No proxy of the environment is used, because it could connect to any address.
 */
export async function openResponse(
  {
    target,
    addresses,
    request: sent = PLAIN_GET,
  }: { readonly target: CheckedUrl; readonly addresses: readonly string[]; readonly request?: Request },
  rules: RequestRules,
  ending: AbortController,
): Promise<OpenResponse> {
  // Loaded with the first fetch, because a service that sends only texts need not keep it in memory.
  const undici = await import('undici')
  const exchange = { peerHasEnded: false, hasAnswered: false }
  const connection = new MeteredConnection(await rules.dial(target, addresses, ending.signal), {
    onReceived(receivedBytes) {
      if (!exchange.hasAnswered && receivedBytes > MOST_BYTES_BEFORE_BODY) ending.abort(tooWordy())
    },
    mayBegin: sent.mayBegin ?? (() => true),
  })
  connection.once('end', () => {
    exchange.peerHasEnded = true
  })
  connection.on('error', () => {})
  const client = clientOver(undici, connection, new URL(target.url).origin)
  const close = () => {
    void client.destroy().catch(() => {})
    connection.destroy()
  }
  // The client checks the signal only once the request is under way.
  ending.signal.addEventListener('abort', close, { once: true })
  const timer = setTimeout(() => ending.abort(tooSlow(rules.headersMs)), rules.headersMs)
  try {
    const answer = await send(client, { target, userAgent: rules.userAgent, sent }, ending)
    exchange.hasAnswered = true
    // Until the caller reads the body.
    connection.hold()
    // The body may fail before the caller listens, and an unhandled error would end the process.
    answer.body.on('error', () => {})
    return {
      host: target.host,
      status: answer.statusCode,
      header: (name) => joined(answer.headers[name]),
      body: answer.body,
      connection,
      explain: (error) => explainBrokenExchange(error, exchange),
      close,
    }
  } catch (error) {
    close()
    ending.signal.throwIfAborted()
    throw explainBrokenExchange(error, exchange)
  } finally {
    clearTimeout(timer)
  }
}

/** An HTTP client that has this one connection and can never open another. */
function clientOver(undici: typeof import('undici'), connection: MeteredConnection, origin: string): Client {
  let unused: MeteredConnection | null = connection
  return new undici.Client(origin, {
    connect: (_options, callback) => {
      const given = unused
      unused = null
      // Not at once: the client misses a connection that is handed over during its own call.
      queueMicrotask(() => {
        // The library uses it only as a stream, although its type asks for a socket.
        if (given) callback(null, given as unknown as Socket)
        else callback(new Error('A fetch has one connection and makes no second one'), null)
      })
    },
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Our own time limits replace these, which restart with every byte, so that a slow drip would never reach them.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

function send(
  client: Client,
  { target, userAgent, sent }: { readonly target: CheckedUrl; readonly userAgent: string; readonly sent: Request },
  ending: AbortController,
) {
  let interim = 0
  return client.request({
    method: sent.method,
    path: target.path,
    headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': userAgent, ...sent.headers },
    body: typeof sent.body === 'function' ? sent.body() : sent.body,
    // Asks the host to close the connection afterwards.
    reset: true,
    signal: ending.signal,
    // So large that it never pauses by itself: see MeteredConnection.
    highWaterMark: Number.MAX_SAFE_INTEGER,
    onInfo: () => {
      interim += 1
      if (interim > MOST_INTERIM_RESPONSES) {
        ending.abort(
          new MediaProblem(
            'media_protocol',
            `The media host sent more than ${MOST_INTERIM_RESPONSES} interim responses.`,
          ),
        )
      }
    },
  })
}

function joined(value: string | string[] | undefined): string | null {
  if (value === undefined) return null
  return Array.isArray(value) ? value.join(', ') : value
}

function tooWordy(): MediaProblem {
  return new MediaProblem(
    'media_protocol',
    `The media host sent more than ${MOST_BYTES_BEFORE_BODY} bytes without an answer.`,
  )
}

function tooSlow(headersMs: number): MediaProblem {
  return new MediaProblem(
    'media_timeout',
    `The media host did not answer the request within ${durationText(headersMs)}.`,
  )
}
