/** The service's own codes: see its manual page on the endpoint. */
export type RefusalCode = 'HC-2' | 'HC-3' | 'HC-4' | 'HC-5' | 'HC-6' | 'HC-7' | 'HC-8' | 'HC-9'

/** One thing that is wrong with a request. */
export interface FieldError {
  /** Path in the body such as `message.media.url`, or the name of a header; null when it is the whole request. */
  readonly field: string | null
  /** Stable. Programs decide by it. */
  readonly code: string
  /** What is wrong and how to fix it. For people. */
  readonly message: string
}

interface Refused {
  readonly status: number
  readonly code: RefusalCode | null
  readonly name: string
  readonly message: string
  readonly fields: readonly FieldError[]
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null
  readonly idempotencyKey: string
}

/**
 * The service has not accepted the message: nothing was stored, nothing will be sent. As the `cause` of a
 * `NuncioUnreachable` it says less: an earlier try may have been stored.
 */
export class NuncioRefusal extends Error {
  /** The HTTP status. */
  readonly status: number
  /** Null when the answer came from another server, such as a proxy. */
  readonly code: RefusalCode | null
  /** The service's name of the refusal, such as `bad_request_400`. */
  override readonly name: string
  /** All that is wrong with the request. */
  readonly fields: readonly FieldError[]
  /** Finds the request in the API log. */
  readonly requestId: string | null
  /** How long the service asks you to wait, if it does. */
  readonly retryAfterSeconds: number | null
  /** The key it was sent under. A refusal does not use it up. */
  readonly idempotencyKey: string

  constructor(refused: Refused) {
    super(refused.message)
    this.status = refused.status
    this.code = refused.code
    this.name = refused.name
    this.fields = refused.fields
    this.requestId = refused.requestId
    this.retryAfterSeconds = refused.retryAfterSeconds
    this.idempotencyKey = refused.idempotencyKey
  }

  /** Whether the same request may be accepted later. All others are refused again until you fix the request. */
  get isRetryable(): boolean {
    return this.status === 429 || (this.status >= 500 && this.code !== 'HC-2')
  }
}
