import { hash } from 'node:crypto'
import type { MessageId } from '../../core/ids.ts'

const SAMPLED_BITS = 48

/** The trace of a message: its id, a UUID of version 7, is 16 bytes as a trace id is. */
export function traceIdOf(messageId: MessageId): string {
  return messageId.replaceAll('-', '')
}

/**
 * The id of one span of a message. Made of the message and the name alone, so that any process knows the parent of its
 * spans, and a span that is reported twice is recognised.
 */
export function spanIdOf(messageId: MessageId, name: string): string {
  const id = hash('sha256', `${messageId} ${name}`).slice(0, 16)
  // All zeros would mean: none.
  return id === '0000000000000000' ? '0000000000000001' : id
}

/** By the random bits of the id, so that all machines trace the same messages, each of them wholly or not at all. */
export function isSampled(messageId: MessageId, percent: number): boolean {
  if (percent >= 100) return true
  return Number.parseInt(messageId.slice(-SAMPLED_BITS / 4), 16) < (percent / 100) * 2 ** SAMPLED_BITS
}

/** Another trace that a request came from. */
export interface RemoteSpan {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
}

/** Reads a `traceparent` header. Null for whatever is not exactly as version 00 of W3C Trace Context writes it. */
export function readTraceparent(text: string): RemoteSpan | null {
  const [, traceId = '', spanId = '', flags = ''] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text) ?? []
  if (!/[1-9a-f]/.test(traceId) || !/[1-9a-f]/.test(spanId)) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
