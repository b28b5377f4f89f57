import type { Instant } from '../../core/ids.ts'
import type { RemoteSpan } from './trace-ids.ts'

/** A span as plain data, independent of how it is exported. */
export interface PlainSpan {
  readonly traceId: string
  readonly spanId: string
  /** Null for the first span of a trace. */
  readonly parentSpanId: string | null
  readonly name: string
  /** `server`: a request that came in. `client`: a call that goes out. */
  readonly kind: 'server' | 'client' | 'internal'
  readonly startedAt: Instant
  readonly endedAt: Instant
  readonly isError: boolean
  /** Ids, codes from lists of ours, sizes and durations. Never what a caller wrote. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly events: readonly SpanEvent[]
  readonly link: RemoteSpan | null
}

/** Something that happened during a span. */
export interface SpanEvent {
  readonly name: string
  readonly at: Instant
  readonly attributes: Readonly<Record<string, string | number>>
}
