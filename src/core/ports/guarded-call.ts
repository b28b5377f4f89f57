import type { TryCode } from '../notifications/delivery-try-codes.ts'

/** A file that is sent as the body, as it lies on the disk. */
export interface FileBody {
  readonly path: string
  readonly sizeBytes: number
}

/** What is made while it is sent, such as a file that is encrypted. Opened once the connection is there. */
interface StreamBody {
  readonly open: () => AsyncIterable<Uint8Array>
  readonly sizeBytes: number
}

/** One HTTP request to a system that is not ours. */
export interface CallWanted {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | FileBody | StreamBody | null
  /** Longest time from the first look-up to the last byte of the answer. */
  readonly timeoutMs: number
  /** A longer answer is none. */
  readonly mostAnswerBytes: number
}

/** What can end a call before its answer is complete. `interrupted`: the caller stopped it. */
type CallFailure = TryCode | 'interrupted'

/**
 * How a call ended. `not-sent` is certain: no byte of the request went out. `unknown`: some did, and no complete answer came.
 * The words state facts, but never an address that a name resolved to.
 */
export type CallEnd =
  | { readonly kind: 'not-sent'; readonly code: CallFailure; readonly words: string }
  | {
      readonly kind: 'answered'
      readonly status: number
      /** The value of a header by its lower-case name; null when it is absent. */
      header(name: string): string | null
      readonly body: Uint8Array
    }
  | { readonly kind: 'unknown'; readonly code: CallFailure; readonly words: string }

interface CallLimits {
  readonly signal: AbortSignal
  /** Asked right before the first byte goes out, after everything that waits: false ends the call, and nothing was sent. */
  readonly mayBegin?: () => boolean
}

/**
 * One call to a URL that an account gave, over a connection of its own, with the same guard as media downloads: every address
 * is checked before it connects (G9). Follows no redirect, knows no proxy and never repeats by itself. Never throws.
 */
export interface GuardedCall {
  call(wanted: CallWanted, limits: CallLimits): Promise<CallEnd>
}
