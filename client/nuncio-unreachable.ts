import { NuncioRefusal } from './nuncio-refusal.ts'

/**
 * It is unknown whether the message was stored: there was no answer, or an inconclusive one. To be sure, send the same
 * message again with `idempotencyKey` within 24 hours: it is then sent once, whatever happened.
 *
 * `cause` is the error of the last try: a network error, or the `NuncioRefusal` of the service.
 */
export class NuncioUnreachable extends Error {
  override readonly name = 'NuncioUnreachable'
  readonly idempotencyKey: string
  /** Finds the last request in the API log, if it was answered. */
  readonly requestId: string | null

  constructor(idempotencyKey: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`It is unknown whether the message was stored; send it again with the same idempotency key. ${why}`, {
      cause,
    })
    this.idempotencyKey = idempotencyKey
    this.requestId = cause instanceof NuncioRefusal ? cause.requestId : null
  }
}
