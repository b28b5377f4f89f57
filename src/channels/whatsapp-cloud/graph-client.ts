import type { Socket } from 'node:net'
import type { Agent, Dispatcher, FormData } from 'undici'
import { InterimReplies } from '../../core/interim-replies.ts'
import type { StillHolds } from '../../core/ports/channel.ts'
import { explainBrokenCall } from './explain-broken-call.ts'

/** A form with one file, which is streamed from the disk so that a large one costs no memory. */
interface GraphForm {
  readonly fields: Readonly<Record<string, string>>
  readonly file: Blob
}

export interface GraphCall {
  readonly method: 'GET' | 'POST'
  /** Begins with a slash and the version; ids in it are digits. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly accessToken: string
  /** JSON as bytes, or a form. */
  readonly body?: Buffer | GraphForm
}

export interface CallLimits {
  readonly signal: AbortSignal
  /** Asked right before the first byte of the request is written. */
  readonly stillHolds?: StillHolds
}

/** What happened to the bytes of a call. */
export type GraphAnswer =
  /** Not one was written. `interrupted`: by us, before it could be. */
  | { readonly kind: 'not-sent'; readonly why: 'unreachable' | 'interrupted'; readonly words: string }
  /** The answer is complete. `body` is its JSON value; undefined when it is none. */
  | { readonly kind: 'answered'; readonly status: number; readonly body: unknown }
  /** Some bytes may have been written, and no answer says what became of them. */
  | { readonly kind: 'unknown'; readonly words: string }

const CONNECT_MS = 5_000
// Shorter than the idle time after which servers commonly close (a minute and more), because a request that meets a
// closing connection ends unknown. A lane that is slower than this pays a TLS handshake for each message.
const KEEP_ALIVE_MS = 4_000
const MOST_HEADER_BYTES = 16 * 1024
/** An answer to a message is some hundred bytes, a page of templates some ten thousand. */
const MOST_BODY_BYTES = 256 * 1024

export interface GraphClientOptions {
  /** Most calls at once; others wait, and are not sent when that takes too long. */
  readonly connections: number
  /** Replaced by tests. */
  readonly connectMs?: number
  readonly mostBodyBytes?: number
}

/**
 * The one place that calls Meta. It says what became of the bytes, and never repeats a call (G5). The library does not repeat
 * one either; if a later version does, the second write is refused here.
 */
export class GraphClient {
  readonly #origin: string
  readonly #basePath: string
  readonly #options: GraphClientOptions
  #agent: Promise<Agent> | null = null

  constructor(baseUrl: string, options: GraphClientOptions) {
    const { origin, pathname } = new URL(baseUrl)
    this.#origin = origin
    this.#basePath = pathname.replace(/(?<!\/)\/+$/, '')
    this.#options = options
  }

  /** Never throws. Ends soon when the signal aborts. */
  async call(call: GraphCall, limits: CallLimits): Promise<GraphAnswer> {
    this.#agent ??= openAgent(this.#options)
    const agent = await this.#agent
    const body = call.body && (Buffer.isBuffer(call.body) ? call.body : await toFormData(call.body))
    return new Promise((resolve) => {
      const exchange = new Exchange(limits, resolve)
      agent.dispatch(
        {
          origin: this.#origin,
          path: this.#pathOf(call),
          method: call.method,
          headers: headersOf(call),
          ...(body && { body }),
          // Keeps the library from repeating the request. A GET could be repeated, but nothing here needs that.
          idempotent: false,
        },
        exchange,
      )
    })
  }

  /** Ends idle and running connections. A later call opens new ones. Harmless twice. */
  async close(): Promise<void> {
    const agent = await this.#agent
    this.#agent = null
    await agent?.destroy()
  }

  #pathOf({ path, query }: GraphCall): string {
    const asked = query ? `?${new URLSearchParams(query).toString()}` : ''
    return `${this.#basePath}${path}${asked}`
  }
}

async function openAgent({
  connections,
  connectMs = CONNECT_MS,
  mostBodyBytes = MOST_BODY_BYTES,
}: GraphClientOptions): Promise<Agent> {
  // Loaded with the first call: a service without such a connection need not keep it in memory.
  const undici = await import('undici')
  // Explicit, because an environment variable can turn the default off.
  const connect = undici.buildConnector({ timeout: connectMs, rejectUnauthorized: true, minVersion: 'TLSv1.2' })
  return new undici.Agent({
    connect: (options, callback) =>
      connect(options, (...result) => {
        if (result[1]) takeInterimAnswers(result[1])
        callback(...result)
      }),
    connections,
    pipelining: 1,
    // A server that goes away lets the library of HTTP/2 send a request again by itself.
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MOST_HEADER_BYTES,
    maxResponseSize: mostBodyBytes,
    // The caller limits the time of the whole call. These timeouts would start again with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

async function toFormData({ fields, file }: GraphForm): Promise<FormData> {
  const { FormData } = await import('undici')
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  // Not the file's own name: what the recipient sees as the name is part of the message.
  form.append('file', file, 'attachment')
  return form
}

/** The library writes the head of a request as a text, and bodies as bytes. */
function takeInterimAnswers(socket: Socket): void {
  const interim = new InterimReplies()
  const [write, push] = [socket.write.bind(socket), socket.push.bind(socket)]
  socket.write = (chunk: string | Uint8Array, ...rest: never[]) => {
    if (typeof chunk === 'string') interim.expectAnswer()
    return write(chunk, ...rest)
  }
  socket.push = (chunk: Uint8Array | null, ...rest) => {
    if (chunk) interim.pass(chunk)
    return push(chunk, ...rest)
  }
}

function headersOf({ accessToken, body }: GraphCall): Record<string, string> {
  return {
    authorization: `Bearer ${accessToken}`,
    accept: 'application/json',
    // Accepting nothing compressed rules out a compression bomb.
    'accept-encoding': 'identity',
    'user-agent': 'nuncio',
    // The library names the type of a form itself, and the length of every body.
    ...(Buffer.isBuffer(body) && { 'content-type': 'application/json' }),
  }
}

/**
 * One request on its way:
 *
 *   WAITING (for a connection) ──▶ WRITTEN (any byte may have left) ──▶ ended
 *
 * Whatever ends it while it waits proves that nothing was sent. As soon as the library is about to write, only a complete
 * answer says what became of it. Tests with real sockets prove this.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #limits: CallLimits
  #resolve: ((answer: GraphAnswer) => void) | null
  #controller: Dispatcher.DispatchController | null = null
  #wasWritten = false
  #status = 0
  readonly #chunks: Buffer[] = []
  readonly #onAbort = () => this.#abort()

  constructor(limits: CallLimits, resolve: (answer: GraphAnswer) => void) {
    this.#limits = limits
    this.#resolve = resolve
    limits.signal.addEventListener('abort', this.#onAbort, { once: true })
    if (limits.signal.aborted) this.#abort()
  }

  /** The connection stands, and the request is written right after this unless it is aborted here. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { signal, stillHolds = () => true } = this.#limits
    if (this.#resolve && !this.#wasWritten && !signal.aborted && stillHolds()) {
      this.#wasWritten = true
      this.#controller = controller
      return
    }
    this.#end(this.#wasWritten ? unknown('the request was to be sent twice') : INTERRUPTED)
    controller.abort(new Error('not wanted any more'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#end({ kind: 'answered', status: this.#status, body: readJson(Buffer.concat(this.#chunks)) })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const words = explainBrokenCall(error)
    this.#end(this.#wasWritten ? unknown(words) : { kind: 'not-sent', why: 'unreachable', words })
  }

  #abort(): void {
    this.#end(this.#wasWritten ? unknown('Meta did not answer in time, or the call was stopped') : INTERRUPTED)
    this.#controller?.abort(new Error('the call was stopped'))
  }

  #end(answer: GraphAnswer): void {
    this.#limits.signal.removeEventListener('abort', this.#onAbort)
    this.#resolve?.(answer)
    this.#resolve = null
  }
}

const INTERRUPTED: GraphAnswer = {
  kind: 'not-sent',
  why: 'interrupted',
  words: 'the call was stopped before anything was sent',
}

function unknown(words: string): GraphAnswer {
  return { kind: 'unknown', words }
}

/** Undefined when it is no JSON in UTF-8. */
function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
