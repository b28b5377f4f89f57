import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { waitUntil } from '../black-box/wait-until.ts'

/** A span as a collector stores it. Times are in milliseconds. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string
  readonly name: string
  readonly startedAt: number
  readonly endedAt: number
  readonly isError: boolean
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly resource: Readonly<Record<string, unknown>>
}

/** `hang` reads a request and never answers. */
type QueryMode = 'take' | 'refuse' | 'hang'

/** A collector for OTLP over HTTP, with as much as tests need. */
export class OtlpReceiver {
  readonly url: string
  readonly spans: ReceivedSpan[] = []
  /** All bodies received, byte for byte. */
  readonly bodies: string[] = []
  readonly headers: IncomingHttpHeaders[] = []
  mode: QueryMode = 'take'
  readonly #close: () => Promise<void>

  private constructor(port: number, close: () => Promise<void>) {
    this.url = `http://127.0.0.1:${port}/v1/traces`
    this.#close = close
  }

  static async open(): Promise<OtlpReceiver> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const receiver = new OtlpReceiver((server.address() as AddressInfo).port, async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    })
    server.on('request', (request, response) => void receiver.#receive(request, response))
    return receiver
  }

  close(): Promise<void> {
    return this.#close()
  }

  /** The spans of a message, in the order of their times. */
  trace(messageId: string): ReceivedSpan[] {
    const traceId = messageId.replaceAll('-', '')
    return this.spans
      .filter((span) => span.traceId === traceId)
      .sort((one, other) => one.startedAt - other.startedAt || one.name.localeCompare(other.name))
  }

  /** Waits until the trace of a message has a span for each of these names. A name that is given twice needs two. */
  async has(messageId: string, ...names: readonly string[]): Promise<ReceivedSpan[]> {
    const wanted = [...names].sort()
    return waitUntil(
      `the trace has ${wanted.join(', ')}`,
      async () => {
        const trace = this.trace(messageId)
        const found = trace.map(({ name }) => name)
        return wanted.every((name) => count(found, name) >= count(wanted, name)) ? trace : null
      },
      { deadlineMs: 40_000, everyMs: 20 },
    )
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await buffer(request)).toString('latin1')
    this.bodies.push(text)
    this.headers.push(request.headers)
    if (this.mode === 'hang') return
    if (this.mode === 'refuse') {
      response.writeHead(400).end()
      return
    }
    this.spans.push(...readSpans(Buffer.from(text, 'latin1').toString()))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, string | number | boolean>>
}

interface Batch {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly WrittenSpan[] }[]
  }[]
}

interface WrittenSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code?: number }
  readonly attributes: readonly Attribute[]
  readonly events: readonly { readonly name: string; readonly attributes: readonly Attribute[] }[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
}

function readSpans(text: string): ReceivedSpan[] {
  return (JSON.parse(text) as Batch).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        startedAt: Number(span.startTimeUnixNano) / 1e6,
        endedAt: Number(span.endTimeUnixNano) / 1e6,
        isError: span.status.code === 2,
        attributes: readAttributes(span.attributes) as ReceivedSpan['attributes'],
        events: (span.events ?? []).map(({ name, attributes }) => ({ name, attributes: readAttributes(attributes) })),
        links: span.links ?? [],
        resource: readAttributes(resource.attributes),
      })),
    ),
  )
}

function readAttributes(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

function count(names: readonly string[], name: string): number {
  return names.filter((each) => each === name).length
}
