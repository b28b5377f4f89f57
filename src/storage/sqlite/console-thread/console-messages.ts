import type { ConsoleArea } from '../../../core/ports/console/console-areas.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import { Refusal, type RefusalCode } from '../../../core/refusals.ts'

/** Messages to the thread of the console. */
export type ToThread =
  | {
      readonly kind: 'call'
      readonly call: number
      readonly area: ConsoleArea
      readonly verb: string
      readonly args: readonly unknown[]
      /** Why the service cannot write at the time of the call. */
      readonly error: StorageError | null
    }
  /** End once all calls before this one are answered. */
  | { readonly kind: 'close' }

/** Its answers. `call` null: the thread could not start, and ends. */
export type FromThread =
  | { readonly kind: 'value'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'thrown'; readonly call: number | null; readonly thrown: SentError }
  /** An error in the background. The work is retried. */
  | { readonly kind: 'error'; readonly thrown: SentError }

type SentError =
  | {
      readonly refusal: RefusalCode
      readonly message: string
      readonly field: string | null
      readonly cause: string | null
    }
  | { readonly refusal: null; readonly message: string; readonly stack: string | null }

/** An error loses its class between threads, and the catcher must distinguish a refusal from a fault. */
export function packError(thrown: unknown): SentError {
  if (thrown instanceof Refusal) {
    const { code, message, field, cause } = thrown
    return { refusal: code, message, field, cause: cause instanceof Error ? (cause.stack ?? cause.message) : null }
  }
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  return { refusal: null, message: error.message, stack: error.stack ?? null }
}

export function unpackError(sent: SentError): Error {
  if (sent.refusal === null) {
    const error = new Error(sent.message)
    if (sent.stack !== null) error.stack = sent.stack
    return error
  }
  const options = sent.cause === null ? {} : { cause: new Error(sent.cause) }
  return new Refusal(sent.refusal, sent.message, sent.field, options)
}

/** Between threads a Buffer arrives as the plain bytes that it is made of. */
export function withBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (Array.isArray(value)) return value.map(withBuffers)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withBuffers(inner)]))
}
