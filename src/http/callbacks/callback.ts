import type { CallbackHead, CallbackReceiver, CallbackReply } from '../../core/ports/callbacks.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import type { Exchange, ExchangeOwner } from '../exchange.ts'
import type { OverdueWatch, Waiting } from '../overdue-watch.ts'
import type { Problem } from '../problem.ts'
import { readBody } from '../read-body.ts'
import { replyOf } from '../refusal-replies.ts'
import type { BodyRoom } from './body-room.ts'

/** What all callbacks share. */
export interface CallbackDesk {
  readonly room: BodyRoom
  readonly watch: OverdueWatch
  isAccepting(): boolean
}

const TEXT_TYPE = 'text/plain; charset=utf-8'
// Networks that come again do so by a plan of their own. It is for proxies and people.
const RETRY_AFTER_SECONDS = 5

const NOT_ALLOWED: CallbackReply = { status: 405, body: 'a callback is a GET or a POST' }
const TOO_LARGE: CallbackReply = { status: 413, body: 'the body is larger than this network sends any' }
const FULL: CallbackReply = { status: 503, body: 'too many callbacks are being read; come again' }
const CLOSING: CallbackReply = { status: 503, body: 'the service is shutting down; come again' }
const UNAVAILABLE: CallbackReply = { status: 503, body: 'it could not be stored; come again' }

/**
 * One callback. Replies are one short sentence of plain text: networks look at the status alone, and it is people with a
 * console of the network before them who read the rest.
 *
 * First the head is judged, then there must be room for the body, then it is read. So whoever does not know an address
 * costs one look-up, however much is sent to it.
 */
export class Callback implements ExchangeOwner {
  readonly #desk: CallbackDesk
  readonly #exchange: Exchange
  readonly #receiver: CallbackReceiver
  #giveRoomBack: () => void = () => undefined
  #isReceiving = false

  constructor(desk: CallbackDesk, exchange: Exchange, receiver: CallbackReceiver) {
    this.#desk = desk
    this.#exchange = exchange
    this.#receiver = receiver
  }

  /** Returns at once, and no promise: Fastify would wait for it and then go on with the request. */
  start(callbackApp: string): void {
    this.#exchange.owner = this
    const { request } = this.#exchange
    const { method } = request
    if (method !== 'GET' && method !== 'POST') this.#reply(NOT_ALLOWED)
    else if (!this.#desk.isAccepting()) this.#reply(CLOSING)
    else {
      const [, query = ''] = /\?(.*)$/s.exec(request.url ?? '') ?? []
      const headers = singleHeaders(request.headersDistinct)
      this.#judgeHead({ method, callbackApp, query: new URLSearchParams(query), headers })
    }
  }

  #judgeHead(head: CallbackHead): void {
    this.#answer(
      () => this.#receiver.refuseEarly(head),
      (refusal) => (refusal ? this.#reply(refusal) : this.#goOn(head)),
    )
  }

  /** What the framing of the request, or a fault of ours, ends it with. */
  refuse([cause]: readonly Problem[]): void {
    const { status } = replyOf(cause?.code ?? 'internal_error')
    this.#reply({ status, body: cause?.message ?? '' })
  }

  #goOn(head: CallbackHead): void {
    if (head.method === 'GET') {
      this.#receive(head, Buffer.alloc(0))
      return
    }
    const { maxBodyBytes } = this.#receiver
    const bytes = this.#announcedBytes()
    if (bytes > maxBodyBytes) this.#reply(TOO_LARGE)
    else if (!this.#takeRoom(head.callbackApp, bytes)) this.#reply(FULL)
    else {
      readBody(this.#exchange, maxBodyBytes, (body) => {
        if (body) this.#receive(head, body)
        else this.#reply(TOO_LARGE)
      })
    }
  }

  /** Who does not say how much is coming may send as much as anybody may. */
  #announcedBytes(): number {
    const { 'content-length': length, 'transfer-encoding': encoding } = this.#exchange.request.headers
    return encoding === undefined ? Number(length ?? 0) : this.#receiver.maxBodyBytes
  }

  /**
   * It is given back once the receiver has done with the body, or when the exchange ends before it has one. Not with the
   * reply: that does not wait for storage for ever, and the body does.
   */
  #takeRoom(callbackApp: string, bytes: number): boolean {
    const { room } = this.#desk
    const address = `${this.#receiver.channel}/${callbackApp}`
    if (!room.take(address, bytes)) return false
    this.#giveRoomBack = () => room.giveBack(address, bytes)
    this.#exchange.response.once('close', () => {
      if (!this.#isReceiving) this.#giveRoomBack()
    })
    return true
  }

  #receive(head: CallbackHead, body: Uint8Array): void {
    this.#isReceiving = true
    this.#answer(
      () => this.#receiver.receive({ ...head, body }).finally(() => this.#giveRoomBack()),
      (reply) => this.#reply(reply),
    )
  }

  /** Goes on with what the receiver says, unless it takes too long: then the network may come again, which is harmless. */
  #answer<T>(ask: () => Promise<T>, goOn: (answer: T) => void): void {
    const { watch } = this.#desk
    const waiting: Waiting = { giveUp: () => this.#reply(UNAVAILABLE) }
    const ticket = watch.begin(waiting)
    const whenAnswered = (next: () => void) => {
      if (!watch.end(ticket, waiting)) return
      try {
        next()
      } catch (error) {
        this.#exchange.fail(error)
      }
    }
    ask().then(
      (answer) => whenAnswered(() => goOn(answer)),
      (error: unknown) =>
        whenAnswered(() => {
          if (error instanceof StorageUnavailable) this.#reply(UNAVAILABLE)
          else this.#exchange.fail(error)
        }),
    )
  }

  #reply({ status, body }: CallbackReply): void {
    const exchange = this.#exchange
    if (exchange.isReplied) return
    const head = ['content-type', TEXT_TYPE, 'content-length', String(Buffer.byteLength(body))]
    if (status === 405) head.push('allow', 'GET, POST')
    if (status === 503) head.push('retry-after', String(RETRY_AFTER_SECONDS))
    exchange.reply(status, head, body)
    const { observer, clock } = exchange.server
    observer.callbackReplied(status, clock.monotonic() - exchange.receivedMonotonic)
  }
}

/** Of a header that came twice nobody can say which one counts, so it counts as missing. */
function singleHeaders(given: NodeJS.Dict<string[]>): Readonly<Record<string, string>> {
  const single: Record<string, string> = {}
  for (const [name, [value, ...more] = []] of Object.entries(given))
    if (value !== undefined && more.length === 0) single[name] = value
  return single
}
