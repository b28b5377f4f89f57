import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { refusalBody } from '../../contract/replies.ts'
import { MAX_BODY_BYTES } from './http-limits.ts'
import { type Problem, problem } from './problem.ts'
import { replyOf } from './refusal-replies.ts'
import type { HeaderSet } from './repeated-headers.ts'
import type { HttpObserver, ServerState } from './server-state.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
// Every form that RFC 9110 allows: parameters may be empty. Many programs write `utf8` for UTF-8.
const ASKED_JSON = /^application\/json[ \t]*(?:;[ \t]*(?:charset=(?:utf-?8|"utf-?8")[ \t]*)?)*$/i

/** Whether the header Content-Type of a request says JSON in UTF-8. */
export function isJsonType(contentType: string | undefined): boolean {
  return contentType !== undefined && ASKED_JSON.test(contentType)
}

// How many pieces are read after the reply. Each costs some microseconds, so pieces of one byte could use up all CPU
// time. A large body in pieces of a kilobyte stays below the limit.
const MOST_PIECES_AFTER_REPLY = 10_000

const CONTEXT = Symbol('request context')
type Carrier = (IncomingMessage | Socket) & { [CONTEXT]?: RequestContext }

/** The handler that took a request over. It is called when the request must be refused. */
export interface RequestOwner {
  refuse(problems: readonly Problem[]): void
}

/**
 * One request and its reply.
 *
 * It writes to Node's response directly. Fastify's hooks and serialisation take about as long as all our checks
 * together, and a single writer for all replies makes sure that each of them carries its id.
 */
export class RequestContext {
  readonly server: ServerState
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly receivedAt: number
  readonly receivedMonotonic: number
  repeatedHeaders: HeaderSet = 0
  /** True while the caller waits for `100 Continue` before it sends the body. */
  awaitsContinue = false
  /** True when nothing that follows on this connection may be read as a request. */
  endsConnection = false
  isReplied = false
  owner: RequestOwner | null = null
  /** How many requests of the connection wait for their replies, this one included, at the time when it arrived. */
  #waiting = 1
  /** The most bytes that their bodies may have together. */
  #waitingBytes: number
  /** The first of them. Only the newest request keeps it: older ones would keep each other in memory. */
  #first: RequestContext | null = null
  #next: RequestContext | null = null

  constructor(server: ServerState, request: IncomingMessage, response: ServerResponse) {
    this.server = server
    this.request = request
    this.response = response
    this.requestId = server.nextRequestId()
    this.receivedAt = server.clock.now()
    this.receivedMonotonic = server.clock.monotonic()
    this.#waitingBytes = mostBytesOfBody(request)
    const onRequest: Carrier = request
    const onSocket: Carrier = request.socket
    onRequest[CONTEXT] = this
    onSocket[CONTEXT] = this
  }

  /**
   * Puts this request behind one whose reply is not sent yet, and returns how many now wait. Replies are sent in order, so
   * finished requests are counted out here, without a listener for each.
   */
  queueBehind(latest: RequestContext): { readonly requests: number; readonly bodyBytes: number } {
    let first = latest.#first ?? latest
    let requests = latest.#waiting
    let bodyBytes = latest.#waitingBytes
    while (first.#next && first.response.writableFinished) {
      bodyBytes -= mostBytesOfBody(first.request)
      first = first.#next
      requests -= 1
    }
    latest.#next = this
    latest.#first = null
    this.#first = first
    this.#waiting = requests + 1
    this.#waitingBytes += bodyBytes
    return { requests: this.#waiting, bodyBytes: this.#waitingBytes }
  }

  /** `head` alternates names and values, and is appended to. Only the first reply counts. */
  reply(status: number, head: string[], body: string): void {
    if (this.isReplied) return
    head.push('x-request-id', this.requestId, 'x-content-type-options', 'nosniff', 'cache-control', 'no-store')
    const leavesUnread = this.#leavesUnread()
    // Only the last of several waiting requests: after an earlier one, those behind it would lose their replies.
    const isLast = this.server.isClosing && latestContext(this.request.socket) === this
    if (leavesUnread || isLast) this.endsConnection = true
    if (this.endsConnection) head.push('connection', 'close')
    this.response.writeHead(status, head)
    this.isReplied = true
    // The connection keeps its last request context, which must not keep the body in memory.
    this.owner = null
    if (leavesUnread) this.#linger(body)
    else this.response.end(body)
  }

  /**
   * Leaves the reply to another writer, and returns the headers that it must carry. Nothing is written here afterwards.
   */
  handOver(): Readonly<Record<string, string>> {
    const isLast = this.server.isClosing && latestContext(this.request.socket) === this
    if (this.#leavesUnread() || isLast) this.endsConnection = true
    this.isReplied = true
    this.owner = null
    return { 'x-request-id': this.requestId, ...(this.endsConnection ? { connection: 'close' } : {}) }
  }

  /** Resolves when the caller has sent its whole request or its time is over. Many callers read a reply only then. */
  async drain(): Promise<void> {
    const { request, server } = this
    if (!this.#leavesUnread() || this.awaitsContinue || request.destroyed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stopWaiting = server.clock.after(server.limits.lingerMs, resolve)
    request.once('end', resolve).once('close', resolve).resume()
    await promise
    stopWaiting()
  }

  /** Sends `100 Continue` to a caller that waits for it. */
  requestBody(): void {
    if (!this.awaitsContinue) return
    this.awaitsContinue = false
    this.response.writeContinue()
  }

  refuse(problems: readonly Problem[]): void {
    if (this.isReplied) return
    const code = problems[0]?.code ?? 'internal_error'
    const { kind, status, retryAfterSeconds } = replyOf(code)
    const body = JSON.stringify(refusalBody(kind, problems))
    const head = ['content-type', JSON_TYPE, 'content-length', String(Buffer.byteLength(body))]
    if (retryAfterSeconds !== null) head.push('retry-after', String(retryAfterSeconds))
    if (code === 'method_unsupported') head.push('allow', 'GET, HEAD, POST')
    this.reply(status, head, body)
    this.count(status, code)
  }

  count(status: number, outcome: Parameters<HttpObserver['replied']>[1]): void {
    this.server.observer.replied(status, outcome, this.server.clock.monotonic() - this.receivedMonotonic)
  }

  /** The rest of the request never comes, so nothing after it can be read either. */
  abort(cause: Problem): void {
    this.endsConnection = true
    this.#refuseThroughOwner(cause)
  }

  /** Answers a fault of ours. The error's message may name tables, paths or numbers, so it goes only to the log. */
  fail(error: unknown): void {
    this.server.log.error({ requestId: this.requestId, err: error }, 'A request met a fault')
    const detail = `Something went wrong on our side. Quote the request id ${this.requestId}: it finds the cause in our log.`
    this.#refuseThroughOwner(problem('internal_error', null, detail))
  }

  #refuseThroughOwner(cause: Problem): void {
    if (this.owner) this.owner.refuse([cause])
    else this.refuse([cause])
  }

  /** Whether part of a body is still to come that is not worth waiting for. Node discards a short one itself. */
  #leavesUnread(): boolean {
    const { complete, headers } = this.request
    if (complete) return false
    if (this.awaitsContinue || this.endsConnection || headers['transfer-encoding'] !== undefined) return true
    return Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES
  }

  /**
   * Sends the whole reply, but reads on for a while before it ends the connection. Otherwise a caller that still writes
   * gets a connection reset, and its system discards our reply.
   */
  #linger(body: string): void {
    const { request, response, server } = this
    response.write(body)
    const stopWaiting = server.clock.after(server.limits.lingerMs, end)
    let pieces = 0
    request.on('data', () => {
      pieces += 1
      if (pieces === MOST_PIECES_AFTER_REPLY) end()
    })
    request.once('end', end).once('close', end).resume()
    function end() {
      stopWaiting()
      response.end()
    }
  }
}

export function contextOf(request: Carrier): RequestContext {
  const context = request[CONTEXT]
  if (!context) throw new Error('A request did not come through the listener')
  return context
}

/** The newest request of a connection; earlier ones may still wait for their replies. */
export function latestContext(socket: Carrier): RequestContext | null {
  return socket[CONTEXT] ?? null
}

/** The most bytes that are kept of a body: its announced length, or the limit. */
function mostBytesOfBody({ headers }: IncomingMessage): number {
  const { 'content-length': length, 'transfer-encoding': transferEncoding } = headers
  return transferEncoding === undefined ? Math.min(Number(length ?? 0), MAX_BODY_BYTES) : MAX_BODY_BYTES
}
