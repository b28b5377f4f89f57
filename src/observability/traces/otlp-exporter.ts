import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { type Service, writeOtlpJson } from './otlp-json.ts'
import type { PlainSpan } from './plain-span.ts'
import type { SpanExport } from './span-queue.ts'

// A collector that takes longer than this is away, and the queue is better used for what comes after.
const GIVE_UP_AFTER_MS = 10_000
const PAUSES_MS = [500, 1_500, 4_000]
// The statuses with which the protocol asks for a retry.
const LATER = [429, 502, 503, 504]

type Answer = { readonly kind: 'taken' | 'refused' } | { readonly kind: 'later'; readonly afterMs: number | null }

interface OtlpOptions {
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
    const { promise, resolve } = Promise.withResolvers<Answer>()
    // Not `fetch`, which takes an unasked 100 Continue for the end of the connection. A redirect is not followed: headers
    // with a secret are for the collector that was named, and for no other.
    const request = (url.startsWith('https:') ? https : http).request(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      signal,
    })
    request.on('response', (response) => {
      response.resume()
      response.on('error', () => {})
      resolve(readAnswer(response))
    })
    request.on('error', () => resolve({ kind: 'later', afterMs: null }))
    request.end(body)
    return promise
  }
}

function readAnswer({ statusCode = 0, headers }: IncomingMessage): Answer {
  if (statusCode >= 200 && statusCode < 300) return { kind: 'taken' }
  if (!LATER.includes(statusCode)) return { kind: 'refused' }
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  return { kind: 'later', afterMs: Number.isFinite(seconds) ? seconds * 1_000 : null }
}
