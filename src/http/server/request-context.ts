import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { refusalBody } from '../../contract/replies.ts'
import { MAX_BODY_BYTES } from './http-limits.ts'
import { type Problem, problem } from './problem.ts'
import { replyOf } from './refusal-replies.ts'
import type { HeaderSet } from './repeated-headers.ts'
import type { HttpObserver, ServerState } from './server-state.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
// However RFC 9110 lets it be written: parameters may be empty, and `utf8` is what many write for UTF-8.
const ASKED_JSON = /^application\/json[ \t]*(?:;[ \t]*(?:charset=(?:utf-?8|"utf-?8")[ \t]*)?)*$/i

/** Whether the header Content-Type of a request says JSON in UTF-8. */
export function isJsonType(contentType: string | undefined): boolean {
  return contentType !== undefined && ASKED_JSON.test(contentType)
}

// How many pieces are read after the reply: each costs some microseconds, and whoever sends crumbs of a byte could have
// all our time for it. A large body in pieces of a kilobyte is let through.
const MOST_PIECES_AFTER_REPLY = 10_000

const CONTEXT = Symbol('exchange')
type Carrier = (IncomingMessage | Socket) & { [CONTEXT]?: RequestContext }

/** Whoever took a request on, and wants to be asked when it must be refused. */
export interface RequestOwner {
  refuse(problems: readonly Problem[]): void
}

/**
 * One request and its reply.
 *
 * It writes to Node's response directly. Fastify's way through hooks and serialisation takes about as long as all our
 * checks together, and one writer for all replies is also the only way to be sure that each of them carries its id.
 */
export class RequestContext {
  readonly server: ServerState
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly receivedAt: number
  readonly receivedMonotonic: number
  repeatedHeaders: HeaderSet = 0
  /** True while the caller holds the body back until we ask for it. */
  awaitsContinue = false
  /** True when nothing that follows on this connection may be taken for a request. */
  endsConnection = false
  isReplied = false
  owner: RequestOwner | null = null
  /** How many of its connection wait for their replies to be sent, up to this one. Right as of when it came. */
  #waiting = 1
  /** How much their bodies may come to together. */
  #waitingBytes: number
  /** The first of them, for the newest alone to know: older ones would keep each other in memory. */
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
   * It came behind one whose reply is not sent yet. Tells what waits now. Replies are sent in order, so that those
   * which are done are looked at here, and nobody need be told of each.
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

  /** `head` is names and values by turns; it is added to. Only the first reply counts. */
  reply(status: number, head: string[], body: string): void {
    if (this.isReplied) return
    head.push('x-request-id', this.requestId, 'x-content-type-options', 'nosniff', 'cache-control', 'no-store')
    const leavesUnread = this.#leavesUnread()
    // Only the last of several that wait: with an earlier one, those behind it would lose their replies.
    const isLast = this.server.isClosing && latestContext(this.request.socket) === this
    if (leavesUnread || isLast) this.endsConnection = true
    if (this.endsConnection) head.push('connection', 'close')
    this.response.writeHead(status, head)
    this.isReplied = true
    // The connection remembers its last exchange, but need not keep the body alive with it.
    this.owner = null
    if (leavesUnread) this.#linger(body)
    else this.response.end(body)
  }

  /**
   * Leaves the reply to another writer, and tells which headers it must carry. From here on nothing is written here.
   */
  handOver(): Readonly<Record<string, string>> {
    const isLast = this.server.isClosing && latestContext(this.request.socket) === this
    if (this.#leavesUnread() || isLast) this.endsConnection = true
    this.isReplied = true
    this.owner = null
    return { 'x-request-id': this.requestId, ...(this.endsConnection ? { connection: 'close' } : {}) }
  }

  /** Resolves once the caller has sent all of its request, or has had the time to: only then can it read a reply. */
  async drain(): Promise<void> {
    const { request, server } = this
    if (!this.#leavesUnread() || this.awaitsContinue || request.destroyed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stopWaiting = server.clock.after(server.limits.lingerMs, resolve)
    request.once('end', resolve).once('close', resolve).resume()
    await promise
    stopWaiting()
  }

  /** Tells the caller who holds the body back that it may come. */
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

  /** The rest of the request will never come. Nothing after it can be understood either. */
  abort(cause: Problem): void {
    this.endsConnection = true
    this.#refuseThroughOwner(cause)
  }

  /** Answers a fault of ours. Its own words may name tables, paths or numbers: they go to the log, and never leave. */
  fail(error: unknown): void {
    this.server.log.error({ requestId: this.requestId, err: error }, 'A request met a fault')
    const detail = `Something went wrong on our side. Quote the request id ${this.requestId}: it finds the cause in our log.`
    this.#refuseThroughOwner(problem('internal_error', null, detail))
  }

  #refuseThroughOwner(cause: Problem): void {
    if (this.owner) this.owner.refuse([cause])
    else this.refuse([cause])
  }

  /** Whether a body is still under way that is not worth waiting for. A short one Node reads away by itself. */
  #leavesUnread(): boolean {
    const { complete, headers } = this.request
    if (complete) return false
    if (this.awaitsContinue || this.endsConnection || headers['transfer-encoding'] !== undefined) return true
    return Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES
  }

  /**
   * Sends the whole reply, but goes on reading for a while before it ends the connection. Otherwise the caller, still
   * writing, is told that the connection broke, and its system throws our reply away.
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
  if (!context) throw new Error('A request came past the front door')
  return context
}

/** The newest request of a connection; earlier ones may still wait for their replies. */
export function latestContext(socket: Carrier): RequestContext | null {
  return socket[CONTEXT] ?? null
}

/** As much as is kept of a body at most: what it announces, or the largest. */
function mostBytesOfBody({ headers }: IncomingMessage): number {
  const { 'content-length': length, 'transfer-encoding': transferEncoding } = headers
  return transferEncoding === undefined ? Math.min(Number(length ?? 0), MAX_BODY_BYTES) : MAX_BODY_BYTES
}
