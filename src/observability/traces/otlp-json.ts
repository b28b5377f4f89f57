import type { PlainSpan } from './plain-span.ts'

// Numbers of the protocol: opentelemetry/proto/trace/v1/trace.proto.
const KINDS = { internal: 1, server: 2, client: 3 } as const
const STATUS_ERROR = 2
const SAMPLED = 1
const IS_REMOTE_KNOWN = 0x100
const IS_REMOTE = 0x200

/** Which process reports. */
export interface Service {
  readonly version: string
  readonly instance: string
}

/** The body of a request to a collector: OTLP as JSON, in which ids are hexadecimal and nanoseconds are texts. */
export function writeOtlpJson(spans: readonly PlainSpan[], { version, instance }: Service): string {
  const resource = { 'service.name': 'nuncio', 'service.version': version, 'service.instance.id': instance }
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'nuncio', version }, spans: spans.map(written) }],
      },
    ],
  })
}

function written(span: PlainSpan): object {
  const { traceId, spanId, parentSpanId, name, kind, startedAt, endedAt, isError, attributes, events, link } = span
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    flags: SAMPLED | IS_REMOTE_KNOWN,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: toNanoseconds(startedAt),
    // A clock that was set back meanwhile must not make a span that no reader takes.
    endTimeUnixNano: toNanoseconds(Math.max(startedAt, endedAt)),
    attributes: attributesOf(attributes),
    events: events.map((event) => ({
      name: event.name,
      timeUnixNano: toNanoseconds(event.at),
      attributes: attributesOf(event.attributes),
    })),
    links: link
      ? [
          {
            traceId: link.traceId,
            spanId: link.spanId,
            flags: link.flags | IS_REMOTE_KNOWN | IS_REMOTE,
            attributes: [],
          },
        ]
      : [],
    status: isError ? { code: STATUS_ERROR } : {},
  }
}

function attributesOf(attributes: PlainSpan['attributes']): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: wrap(value) }))
}

function wrap(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
}

/** As text, because no number of JavaScript holds them exactly. Milliseconds are split first, for the same reason. */
function toNanoseconds(ms: number): string {
  const whole = Math.floor(ms)
  return `${whole}${String(Math.floor((ms - whole) * 1e6)).padStart(6, '0')}`
}
