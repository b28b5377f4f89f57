import type { PlainSpan } from './plain-span.ts'

// Some 4 MB when full. A collector that is away for longer than this lasts has gaps; messages have none.
const MOST_WAITING = 8_192
const MOST_PER_EXPORT = 512
const EXPORT_EVERY_MS = 1_000

export interface SpanExport {
  /** Resolves to false when they were not taken. Never rejects. */
  send(spans: readonly PlainSpan[]): Promise<boolean>
  close(): void
}

interface SpanQueueParts {
  readonly exporter: SpanExport
  /** For the metrics. */
  readonly onEnd: (end: 'exported' | 'refused' | 'dropped', count: number) => void
}

/**
 * Spans that wait to be exported, one batch at a time and in the background. It never blocks: spans without room are dropped
 * and counted.
 */
export class SpanQueue {
  readonly #parts: SpanQueueParts
  #waiting: PlainSpan[] = []
  #sending: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #isStopped = false

  constructor(parts: SpanQueueParts) {
    this.#parts = parts
  }

  add(span: PlainSpan): void {
    if (this.#isStopped || this.#waiting.length >= MOST_WAITING) {
      this.#parts.onEnd('dropped', 1)
      return
    }
    this.#waiting.push(span)
    if (this.#sending) return
    if (this.#waiting.length >= MOST_PER_EXPORT) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), EXPORT_EVERY_MS).unref()
  }

  /** Exports what waits, for at most `graceMs`; what is left then is dropped. Harmless twice. */
  async stop(graceMs: number): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    let isOver = false
    const over = Promise.withResolvers<void>()
    const deadline = setTimeout(() => {
      isOver = true
      over.resolve()
    }, graceMs)
    while (!isOver && (this.#sending || this.#waiting.length > 0)) {
      if (!this.#sending) this.#send()
      await Promise.race([this.#sending, over.promise])
    }
    clearTimeout(deadline)
    if (this.#timer) clearTimeout(this.#timer)
    if (this.#waiting.length > 0) this.#parts.onEnd('dropped', this.#waiting.length)
    this.#waiting = []
    this.#parts.exporter.close()
  }

  #send(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#sending || this.#waiting.length === 0) return
    const batch = this.#waiting.splice(0, MOST_PER_EXPORT)
    this.#sending = this.#parts.exporter.send(batch).then((isTaken) => {
      this.#parts.onEnd(isTaken ? 'exported' : 'refused', batch.length)
      this.#sending = null
      if (this.#isStopped) return
      if (this.#waiting.length >= MOST_PER_EXPORT) this.#send()
      else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#send(), EXPORT_EVERY_MS).unref()
    })
  }
}
