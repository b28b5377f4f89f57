import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { MessageType } from '../../core/message/message.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { RefusalCode } from '../../core/refusals.ts'
import type { HttpLimits } from './http-limits.ts'

/** Where faults are written: the logger of `app`. */
export interface HttpLog {
  error(fields: { readonly requestId: string; readonly err: unknown }, message: string): void
}

/** A message that was accepted, and whose reply is written. Times from the arrival of its request on. */
interface Acceptance {
  readonly messageId: MessageId
  readonly connectionId: ConnectionId
  readonly requestId: string
  readonly type: MessageType
  readonly receivedAt: number
  readonly checkedAfterMs: number
  readonly committedAfterMs: number
  readonly tookMs: number
  /** As the caller sent it; null when it sent none, or several. */
  readonly traceparent: string | null
}

/** Counts what leaves, for the metrics. Called on the hot path: it must be quick and never throw. */
export interface HttpObserver {
  /** Once for each reply of the send endpoint, and for what is refused before a path is known. */
  replied(status: number, outcome: 'accepted' | 'replayed' | RefusalCode, tookMs: number): void
  /** Once for each reply of the console's private API. */
  consoleReplied(status: number, tookMs: number): void
  /** Once for each reply to a callback of a network. */
  callbackReplied(status: number, tookMs: number): void
  /** So many refusals could not be put into the API log. */
  refusalNotLogged(count: number): void
  /** A connection was turned away, because as many were open as may be, in all or of one caller. */
  connectionDropped(): void
  /** Left out where nobody traces. Once for each message that was accepted, after its reply. */
  accepted?(acceptance: Acceptance): void
}

/** What all requests of a server share. */
export interface ServerState {
  readonly clock: Clock
  readonly log: HttpLog
  readonly observer: HttpObserver
  readonly limits: HttpLimits
  /** Makes the next request id. */
  nextRequestId(): string
  /** True from the moment the server is to stop: from then on every reply ends its connection. */
  isClosing: boolean
  /** Aborted at that moment: what has no end of its own is to end then. */
  readonly closing: AbortSignal
}
