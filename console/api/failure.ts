import type { UseQueryResult } from '@tanstack/react-query'
import { CallProblem, isAway } from './call-problem.ts'

/** Why the query of a key has no data, or why its data could not be reloaded. */
export interface Failure {
  readonly key: string
  readonly problem: CallProblem
}

export type Seen = Pick<UseQueryResult, 'data' | 'error' | 'failureReason'>

/**
 * A query without data that is retried counts as pending. Its last failure is kept until it has data. Otherwise a page would
 * seem to load although the service does not answer.
 */
export function failureOf(now: { key: string; result: Seen; last: Failure | null }): Failure | null {
  const { key, result, last } = now
  const { data, error } = result
  const problem = error ?? (data === undefined ? awayReason(result) : null)
  if (problem instanceof CallProblem) return { key, problem }
  return data === undefined && last?.key === key ? last : null
}

/** A refusal that passes is retried before it is shown. An absent service is shown at once, because it may be away for long. */
function awayReason({ failureReason }: Seen): Error | null {
  return failureReason !== null && isAway(failureReason) ? failureReason : null
}

/** A pending query as one that has failed. */
export function failedResult<Reply>(
  pending: UseQueryResult<Reply, CallProblem>,
  error: CallProblem,
): UseQueryResult<Reply, CallProblem> {
  const failed = { status: 'error', error, isPending: false, isError: true, isLoading: false, isLoadingError: true }
  return { ...pending, ...failed } as UseQueryResult<Reply, CallProblem>
}
