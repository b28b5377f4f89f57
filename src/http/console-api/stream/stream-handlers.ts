import { PassThrough } from 'node:stream'
import type { streamRoutes } from '../../../contract/console/stream.ts'
import { ALIVE, ALIVE_EVERY_MS, CHANGED, SIGNED_OUT } from '../../../contract/console/stream-events.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { OpenReplies } from '../open-replies.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'
import { ChangeWatch } from './change-watch.ts'

// How long a browser waits before it reconnects.
const RETRY_AFTER_MS = 2000

export function streamHandlers(parts: ConsoleParts): Handlers<typeof streamRoutes> {
  const streams = new OpenReplies('stream')
  const watch = new ChangeWatch({
    changes: parts.store.changes,
    clock: parts.clock,
    onError: (err) => parts.log.error({ requestId: '', err }, 'The console cannot see whether anything has changed'),
  })
  return {
    async watchAccount(_input, context): Promise<never> {
      const release = streams.open(context)
      const stream = new EventStream(context, parts)
      const stopListening = watch.listen(context.accountId, () => stream.notify(CHANGED))
      stream.onceEnded(() => {
        stopListening()
        release()
      })
      stream.open()
      // The reply is the stream itself.
      return undefined as never
    },
  }
}

/**
 * One open stream of server-sent events. Events carry no content: on each event the page reloads its data with the
 * person's rights. So nothing is lost when a stream breaks, and `Last-Event-ID` is not needed.
 */
class EventStream {
  readonly #context: AccountRequest
  readonly #parts: ConsoleParts
  readonly #body = new PassThrough()
  #stopHeartbeat = () => {}
  #hasMissedEvent = false

  constructor(context: AccountRequest, parts: ConsoleParts) {
    this.#context = context
    this.#parts = parts
  }

  onceEnded(call: () => void): void {
    this.#body.once('close', call)
  }

  open(): void {
    const { reply, request } = this.#context
    const { socket } = request.raw
    const end = () => this.#end()
    this.#parts.closing.addEventListener('abort', end, { once: true })
    // The listener lets callers end their side and still wait for the reply. A browser that ends its side has closed the
    // page, so the stream is discarded.
    const drop = () => void this.#body.destroy()
    reply.raw.once('close', drop)
    socket.once('end', drop)
    this.#body.once('close', () => {
      this.#stopHeartbeat()
      this.#parts.closing.removeEventListener('abort', end)
      socket.off('end', drop)
    })
    // A buffering proxy would delay events.
    reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no')
    this.#body.write(`retry: ${RETRY_AFTER_MS}\n${frame(ALIVE)}`)
    this.#scheduleHeartbeat()
    void reply.send(this.#body)
    if (this.#parts.closing.aborted) end()
  }

  notify(event: string): void {
    if (this.#body.writableEnded) return
    // A slow reader misses some events; a later event has the same effect.
    if (this.#body.writableNeedDrain) {
      if (this.#hasMissedEvent) return
      this.#hasMissedEvent = true
      this.#body.once('drain', () => {
        this.#hasMissedEvent = false
        this.notify(event)
      })
      return
    }
    this.#body.write(frame(event))
  }

  /** The end of a session is noticed this late. */
  #scheduleHeartbeat(): void {
    this.#stopHeartbeat = this.#parts.clock.after(ALIVE_EVERY_MS, () => void this.#heartbeat())
  }

  async #heartbeat(): Promise<void> {
    if (!(await this.#isStillAuthorized())) {
      this.notify(SIGNED_OUT)
      this.#end()
    }
    if (this.#body.writableEnded || this.#body.destroyed) return
    if (!this.#body.writableNeedDrain) this.notify(ALIVE)
    this.#scheduleHeartbeat()
  }

  async #isStillAuthorized(): Promise<boolean> {
    try {
      return await this.#context.isStillAuthorized('viewer')
    } catch {
      // The database is unavailable. Events carry no content, and every request for data is authorized again.
      return true
    }
  }

  #end(): void {
    if (!this.#body.writableEnded) this.#body.end()
  }
}

function frame(event: string): string {
  return `event: ${event}\ndata:\n\n`
}
