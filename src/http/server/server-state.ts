import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { MessageType } from '../../core/message/message.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { RefusalCode } from '../../core/refusals.ts'
import type { HttpLimits } from './http-limits.ts'

/** Where faults are written: the logger of the process. */
export interface HttpLog {
  error(fields: { readonly requestId: string; readonly err: unknown }, message: string): void
}

/** An accepted message whose reply is written. Durations count from the arrival of its request. */
interface Acceptance {
  readonly messageId: MessageId
  readonly connectionId: ConnectionId
  readonly requestId: string
  readonly type: MessageType
  readonly receivedAt: number
  readonly checkedAfterMs: number
  readonly committedAfterMs: number
  readonly tookMs: number
  /** The caller's header; null when it sent none, or several. */
  readonly traceparent: string | null
}

/** Counts replies for the metrics. Called on the hot path: it must be quick and never throw. */
export interface HttpObserver {
  /** Once for each reply of the send endpoint, and for each request that is refused before its path is known. */
  replied(status: number, outcome: 'accepted' | 'replayed' | RefusalCode, tookMs: number): void
  /** Once for each reply of the console's private API. */
  consoleReplied(status: number, tookMs: number): void
  /** Once for each reply to a callback of a network. */
  callbackReplied(status: number, tookMs: number): void
  /** `count` refusals could not be written to the API log. */
  refusalNotLogged(count: number): void
  /** A connection was refused because too many were open, in all or of one caller. */
  connectionDropped(): void
  /** Once for each accepted message, after its reply. Left out when tracing is off. */
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
  /** True once the server is to stop: every reply then ends its connection. */
  isClosing: boolean
  /** Aborted when `isClosing` becomes true, for replies without an end of their own. */
  readonly closing: AbortSignal
}
