import type { FastifyInstance } from 'fastify'
import type { AccountId } from '../../core/ids.ts'
import type { CallbackHead, CallbackReceiver, CallbackReply, CallbackRequest } from '../../core/ports/callbacks.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { type DeadlineItem, DeadlineQueue } from '../server/deadline-queue.ts'
import type { Problem } from '../server/problem.ts'
import { replyOf } from '../server/refusal-replies.ts'
import { contextOf, type RequestContext, type RequestOwner } from '../server/request-context.ts'
import type { ServerState } from '../server/server-state.ts'
import { BODY_MEMORY, BodyMemoryBudget } from './body-memory-budget.ts'
import { BodyReading } from './body-reading.ts'

/** Shared by all callbacks. */
interface CallbackDeps {
  readonly budget: BodyMemoryBudget
  /** Ends waiting for storage. */
  readonly deadlines: DeadlineQueue
  /** Ends bodies that make no progress. */
  readonly stalls: DeadlineQueue
  isAccepting(): boolean
}

const TEXT_TYPE = 'text/plain; charset=utf-8'
// For proxies and people: networks retry by their own schedule.
const RETRY_AFTER_SECONDS = 5

const NOT_ALLOWED: CallbackReply = { status: 405, body: 'a callback is a GET or a POST' }
const TOO_LARGE: CallbackReply = { status: 413, body: 'the body is larger than this network sends any' }
const FRAGMENTED: CallbackReply = { status: 413, body: 'the body comes in more pieces than any network sends' }
const FULL: CallbackReply = { status: 503, body: 'too many callbacks are being read; come again' }
const CLOSING: CallbackReply = { status: 503, body: 'the service is shutting down; come again' }
const UNAVAILABLE: CallbackReply = { status: 503, body: 'it could not be stored; come again' }

const REPLY_TO = { 'too-large': TOO_LARGE, fragmented: FRAGMENTED, full: FULL } as const

interface CallbackRoutesInput {
  readonly callbacks: readonly CallbackReceiver[]
  isAccepting(): boolean
}

/** `/channels/<channel>/<app>`: where networks send their reports. Each channel finds the account and verifies the report. */
export function addCallbackRoutes(app: FastifyInstance, state: ServerState, input: CallbackRoutesInput): void {
  const deps: CallbackDeps = {
    budget: new BodyMemoryBudget(BODY_MEMORY),
    deadlines: new DeadlineQueue(state.clock, state.limits.storageWaitMs),
    stalls: new DeadlineQueue(state.clock, state.limits.callbackStallMs),
    isAccepting: () => input.isAccepting(),
  }
  for (const receiver of input.callbacks) {
    app.all<{ Params: { app: string } }>(`/channels/${receiver.channel}/:app`, {
      // As with the send endpoint: the hook handles the whole request and never continues.
      onRequest: (request) => new Callback(deps, contextOf(request.raw), receiver).start(request.params.app),
      handler: () => undefined,
    })
  }
}

/**
 * One callback. Replies are one short sentence of plain text: networks read only the status, and people see the text in
 * the network's console.
 *
 * The head is checked first, and then the body is read within the memory budget. So a request to an unknown address
 * costs one look-up, however much is sent to it.
 */
class Callback implements RequestOwner {
  readonly #deps: CallbackDeps
  readonly #context: RequestContext
  readonly #receiver: CallbackReceiver

  constructor(deps: CallbackDeps, context: RequestContext, receiver: CallbackReceiver) {
    this.#deps = deps
    this.#context = context
    this.#receiver = receiver
  }

  /** Returns at once, and no promise: Fastify would wait for it and then continue with the request. */
  start(callbackApp: string): void {
    this.#context.owner = this
    const { request } = this.#context
    const { method } = request
    if (method !== 'GET' && method !== 'POST') this.#reply(NOT_ALLOWED)
    else if (!this.#deps.isAccepting()) this.#reply(CLOSING)
    else {
      const [, query = ''] = /\?(.*)$/s.exec(request.url ?? '') ?? []
      const headers = singleHeaders(request.headersDistinct)
      this.#checkHead({ method, callbackApp, query: new URLSearchParams(query), headers })
    }
  }

  #checkHead(head: CallbackHead): void {
    this.#answer(
      () => this.#receiver.checkHead(head),
      (result) => (result.refusal ? this.#reply(result.refusal) : this.#goOn(head, result.owner)),
    )
  }

  /** Called when the request is invalid or aborted, or for a fault of ours. */
  refuse([cause]: readonly Problem[]): void {
    const { status } = replyOf(cause?.code ?? 'internal_error')
    this.#reply({ status, body: cause?.message ?? '' })
  }

  #goOn(head: CallbackHead, owner: AccountId): void {
    if (head.method === 'GET') {
      this.#answer(
        () => this.#receiver.receive({ ...head, body: Buffer.alloc(0) }),
        (reply) => this.#reply(reply),
      )
      return
    }
    const { budget, stalls } = this.#deps
    const reading = new BodyReading({
      budget,
      stalls,
      context: this.#context,
      maxBytes: this.#receiver.maxBodyBytes,
      owner,
      onEnd: (end) => {
        if (typeof end === 'string') this.#reply(REPLY_TO[end])
        else this.#receive({ ...head, body: end }, reading)
      },
    })
    reading.start()
  }

  /** The memory is not released with the reply: the reply has a timeout, and the body stays until storage answers. */
  #receive(request: CallbackRequest, reading: BodyReading): void {
    this.#answer(
      () => this.#receiver.receive(request).finally(() => reading.releaseMemory()),
      (reply) => this.#reply(reply),
    )
  }

  /** Continues with the receiver's answer, unless it takes too long: then the network may retry, which is harmless. */
  #answer<T>(ask: () => Promise<T>, goOn: (answer: T) => void): void {
    const { deadlines } = this.#deps
    const waiting: DeadlineItem = { onDeadline: () => this.#reply(UNAVAILABLE) }
    const ticket = deadlines.add(waiting)
    const whenAnswered = (next: () => void) => {
      if (!deadlines.remove(ticket, waiting)) return
      try {
        next()
      } catch (error) {
        this.#context.fail(error)
      }
    }
    ask().then(
      (answer) => whenAnswered(() => goOn(answer)),
      (error: unknown) =>
        whenAnswered(() => {
          if (error instanceof StorageUnavailable) this.#reply(UNAVAILABLE)
          else this.#context.fail(error)
        }),
    )
  }

  #reply({ status, body, headers }: CallbackReply): void {
    const context = this.#context
    if (context.isReplied) return
    const named = { 'content-type': TEXT_TYPE, 'content-length': String(Buffer.byteLength(body)), ...headers }
    const head = Object.entries(named).flat()
    if (status === 405) head.push('allow', 'GET, POST')
    if (status === 503) head.push('retry-after', String(RETRY_AFTER_SECONDS))
    context.reply(status, head, body)
    const { observer, clock } = context.server
    observer.callbackReplied(status, clock.monotonic() - context.receivedMonotonic)
  }
}

/** A repeated header counts as missing, because it is unknown which one is meant. */
function singleHeaders(given: NodeJS.Dict<string[]>): Readonly<Record<string, string>> {
  const single: Record<string, string> = {}
  for (const [name, [value, ...more] = []] of Object.entries(given))
    if (value !== undefined && more.length === 0) single[name] = value
  return single
}
