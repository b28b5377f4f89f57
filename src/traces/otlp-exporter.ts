import { setTimeout as pause } from 'node:timers/promises'
import { type Service, writeOtlpJson } from './otlp-json.ts'
import type { PlainSpan } from './plain-span.ts'
import type { SpanExport } from './span-queue.ts'

// A collector that takes longer than this is away, and the queue is better used for what comes after.
const GIVE_UP_AFTER_MS = 10_000
const PAUSES_MS = [500, 1_500, 4_000]
// By these the protocol says: later.
const LATER = [429, 502, 503, 504]

type Answer = { readonly kind: 'taken' | 'refused' } | { readonly kind: 'later'; readonly afterMs: number | null }

export interface OtlpOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly service: Service
}

/** Exports spans to a collector that speaks OTLP over HTTP, as JSON. */
export class OtlpExporter implements SpanExport {
  readonly #options: OtlpOptions
  readonly #closing = new AbortController()

  constructor(options: OtlpOptions) {
    this.#options = options
  }

  async send(spans: readonly PlainSpan[]): Promise<boolean> {
    const body = writeOtlpJson(spans, this.#options.service)
    const giveUpAt = performance.now() + GIVE_UP_AFTER_MS
    for (const pauseMs of [...PAUSES_MS, Number.POSITIVE_INFINITY]) {
      const answer = await this.#post(body, giveUpAt - performance.now())
      if (answer.kind !== 'later') return answer.kind === 'taken'
      const waitMs = Math.max(pauseMs, answer.afterMs ?? 0)
      if (performance.now() + waitMs >= giveUpAt) return false
      const isOver = await pause(waitMs, false, { signal: this.#closing.signal, ref: false }).catch(() => true)
      if (isOver) return false
    }
    return false
  }

  /** Ends what is under way. Harmless twice. */
  close(): void {
    this.#closing.abort()
  }

  async #post(body: string, withinMs: number): Promise<Answer> {
    const { url, headers } = this.#options
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(Math.max(1, Math.round(withinMs)))])
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        // Headers with a secret are for the collector that was named, and for no other.
        redirect: 'error',
        signal,
      })
      await response.body?.cancel()
      if (response.ok) return { kind: 'taken' }
      if (!LATER.includes(response.status)) return { kind: 'refused' }
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      return { kind: 'later', afterMs: Number.isFinite(seconds) ? seconds * 1_000 : null }
    } catch {
      return { kind: 'later', afterMs: null }
    }
  }
}
