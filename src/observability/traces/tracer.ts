import type { ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import {
  type Accepted,
  spanOfAttempt,
  spanOfDrop,
  spanOfFetch,
  spanOfPreparing,
  spanOfRecovery,
  spanOfStep,
  spanOfWait,
  spansOfAcceptance,
} from './describe-spans.ts'
import type { PlainSpan, SpanEvent } from './plain-span.ts'
import { isSampled, readTraceparent } from './trace-ids.ts'

// A waiting lane is checked every 15 s, so this is a wait of four minutes; more entries of a longer wait add nothing.
const MOST_MOMENTS = 16

interface TracerParts {
  readonly sampledPercent: number
  /** Time as all processes on the database agree on it. */
  readonly now: () => Instant
  readonly onSpan: (span: PlainSpan) => void
}

/** What is known of a lane that is held here since its last attempt. */
interface LaneTrail {
  last: { readonly messageId: MessageId; readonly number: number; readonly endedAt: Instant } | null
  entries: SpanEvent[]
}

/**
 * Makes spans of the events that it gets. It keeps state only for lanes that are held here, and only for more detail: a
 * span whose beginning is not known is left out.
 */
export class Tracer {
  readonly #parts: TracerParts
  readonly #trails = new Map<ConnectionId, LaneTrail>()

  constructor(parts: TracerParts) {
    this.#parts = parts
  }

  /** `traceparent` as the caller sent it; null when there was none. */
  accepted(accepted: Accepted, traceparent: string | null): void {
    if (!this.#wants(accepted.messageId)) return
    const link = traceparent === null ? null : readTraceparent(traceparent)
    for (const span of spansOfAcceptance(accepted, link)) this.#parts.onSpan(span)
  }

  record(event: JournalEvent): void {
    switch (event.event) {
      case 'attempt.finished':
        this.#attempted(event)
        break
      case 'lane.waiting':
      case 'message.deferred':
        this.#waited(event)
        break
      case 'lane.lost':
        this.#trails.delete(event.connectionId)
        break
      case 'media.fetched':
      case 'media.failed':
        if (this.#wants(event.messageId)) this.#parts.onSpan(spanOfFetch(event, this.#parts.now()))
        break
      case 'message.prepared':
        if (this.#wants(event.messageId)) this.#parts.onSpan(spanOfPreparing(event, this.#parts.now()))
        break
      case 'message.dropped':
        if (this.#wants(event.messageId)) this.#parts.onSpan(spanOfDrop(event, this.#parts.now()))
        break
      case 'attempt.recovered':
        if (this.#wants(event.messageId)) this.#parts.onSpan(spanOfRecovery(event, this.#parts.now()))
        break
      default:
      // All else is not of one message.
    }
  }

  /** The outcome of the lane's last attempt was committed just now. A lane does one thing at a time, so it is that one. */
  committed(connectionId: ConnectionId, tookMs: number): void {
    const last = this.#trails.get(connectionId)?.last
    if (!last || !this.#wants(last.messageId)) return
    const endedAt = this.#parts.now()
    this.#parts.onSpan(spanOfStep(last, { startedAt: endedAt - tookMs, endedAt }))
  }

  #attempted(event: Extract<JournalEvent, { event: 'attempt.finished' }>): void {
    const { connectionId, messageId, number, startedAt, tookMs, waitedMs } = event
    const trail = this.#trailOf(connectionId)
    const { last, entries } = trail
    trail.last = { messageId, number, endedAt: startedAt + tookMs }
    trail.entries = []
    if (!this.#wants(messageId)) return
    // When another worker made the attempt before, its end is not known here.
    const before = last?.messageId === messageId ? last.endedAt : null
    const since = number === 1 ? startedAt - waitedMs : before
    if (since !== null && since <= startedAt) this.#parts.onSpan(spanOfWait(event, { since, entries }))
    this.#parts.onSpan(spanOfAttempt(event))
  }

  #waited({
    connectionId,
    reason,
    until,
  }: Extract<JournalEvent, { event: 'lane.waiting' | 'message.deferred' }>): void {
    const { entries } = this.#trailOf(connectionId)
    if (entries.length >= MOST_MOMENTS || entries.at(-1)?.attributes['nuncio.reason'] === reason) return
    const at = this.#parts.now()
    const forMs = until === null ? {} : { 'nuncio.wait_ms': Math.max(0, until - at) }
    entries.push({ name: 'waits', at, attributes: { 'nuncio.reason': reason, ...forMs } })
  }

  #trailOf(connectionId: ConnectionId): LaneTrail {
    let trail = this.#trails.get(connectionId)
    if (!trail) {
      trail = { last: null, entries: [] }
      this.#trails.set(connectionId, trail)
    }
    return trail
  }

  #wants(messageId: MessageId): boolean {
    return isSampled(messageId, this.#parts.sampledPercent)
  }
}
