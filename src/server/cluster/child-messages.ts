import type { Settings } from '../../config/read-settings.ts'
import { Refusal, type RefusalCode } from '../../core/refusals.ts'
import { refusalOfSystem } from '../../core/system-errors.ts'
import type { MetricsReport } from '../../observability/metrics.ts'

/** The first message of the parent to a child: what to serve. A child reads no settings, because all must have the same. */
export interface ServeOrder {
  readonly say: 'serve'
  /** From 1 on. A child that takes the place of a dead one has the same number. */
  readonly number: number
  readonly settings: Settings
}

export type ToChild =
  | ServeOrder
  | { readonly say: 'stop' }
  /** To be answered with `report-metrics`. */
  | { readonly say: 'report-metrics'; readonly question: number }
  /** The answer to `ask-metrics`. */
  | { readonly say: 'metrics-of-others'; readonly question: number; readonly reports: readonly MetricsReport[] }

/** It could not begin to serve, and ends. */
interface ChildFailed {
  readonly say: 'failed'
  /** Null: a fault. */
  readonly code: RefusalCode | null
  readonly message: string
  readonly field: string | null
  readonly stack: string | null
}

export type FromChild =
  | { readonly say: 'serving'; readonly url: string }
  | ChildFailed
  | { readonly say: 'ask-metrics'; readonly question: number }
  | { readonly say: 'report-metrics'; readonly question: number; readonly report: MetricsReport }

export function describeFailure(thrown: unknown): ChildFailed {
  const error = refusalOfSystem(thrown) ?? thrown
  if (error instanceof Refusal) {
    const { code, message, field } = error
    return { say: 'failed', code, message, field, stack: null }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { say: 'failed', code: null, message, field: null, stack: stack ?? null }
}

/** The error as if it had been thrown here, so that it is reported in the same words. */
export function restoreFailure({ code, message, field, stack }: ChildFailed): Error {
  if (code !== null) return new Refusal(code, message, field)
  const error = new Error(message)
  if (stack !== null) error.stack = stack
  return error
}
