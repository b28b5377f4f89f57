import { PassThrough } from 'node:stream'
import { CHANGED, SIGNED_OUT, type streamRoutes } from '../../../contract/console/stream.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { OpenReplies } from '../open-replies.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'
import { ChangeWatch } from './change-watch.ts'

// Shorter than proxies wait for the next byte (60 s), and so how late a session that has ended is noticed.
const HEARTBEAT_EVERY_MS = 15_000
// How long a browser waits before it opens a stream anew that was cut off.
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
 * One open stream of server-sent events. Events carry no content: whoever gets one asks for what is on the screen, and is
 * given what they may see. So nothing is lost when a stream breaks, and `Last-Event-ID` need not be looked at.
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
    // Nobody reads any more what is still in it. The front door lets callers end their side and wait for the reply all
    // the same, so that end must be looked for: a browser that does so has closed the page.
    const drop = () => void this.#body.destroy()
    reply.raw.once('close', drop)
    socket.once('end', drop)
    this.#body.once('close', () => {
      this.#stopHeartbeat()
      this.#parts.closing.removeEventListener('abort', end)
      socket.off('end', drop)
    })
    // A proxy that gathers what it passes on would hold events back.
    reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no')
    this.#body.write(`retry: ${RETRY_AFTER_MS}\n\n`)
    this.#scheduleHeartbeat()
    void reply.send(this.#body)
    if (this.#parts.closing.aborted) end()
  }

  notify(event: string): void {
    if (this.#body.writableEnded) return
    // A reader that is slower than the events misses some: one that comes later says as much.
    if (this.#body.writableNeedDrain) {
      if (this.#hasMissedEvent) return
      this.#hasMissedEvent = true
      this.#body.once('drain', () => {
        this.#hasMissedEvent = false
        this.notify(event)
      })
      return
    }
    this.#body.write(`event: ${event}\ndata:\n\n`)
  }

  #scheduleHeartbeat(): void {
    this.#stopHeartbeat = this.#parts.clock.after(HEARTBEAT_EVERY_MS, () => void this.#heartbeat())
  }

  async #heartbeat(): Promise<void> {
    if (!(await this.#isStillAuthorized())) {
      this.notify(SIGNED_OUT)
      this.#end()
    }
    if (this.#body.writableEnded || this.#body.destroyed) return
    if (!this.#body.writableNeedDrain) this.#body.write(': beat\n\n')
    this.#scheduleHeartbeat()
  }

  async #isStillAuthorized(): Promise<boolean> {
    try {
      return await this.#context.isStillAuthorized('viewer')
    } catch {
      // The database cannot be asked. What is told says nothing, and whoever asks for more is judged anew.
      return true
    }
  }

  #end(): void {
    if (!this.#body.writableEnded) this.#body.end()
  }
}
