import type { UseQueryResult } from '@tanstack/react-query'
import { CallProblem, isAway } from './call-problem.ts'

/** Why the query of a key has no data, or why its data could not be reloaded. */
export interface Failure {
  readonly key: string
  readonly problem: CallProblem
}

export type Seen = Pick<UseQueryResult, 'data' | 'error' | 'failureReason'>

/**
 * A query without data that calls again is pending, as if it had never failed. Its last failure stays until it has data: a
 * page would otherwise show that it loads, with nothing that answers.
 */
export function failureOf(now: { key: string; result: Seen; last: Failure | null }): Failure | null {
  const { key, result, last } = now
  const { data, error } = result
  const problem = error ?? (data === undefined ? awayReason(result) : null)
  if (problem instanceof CallProblem) return { key, problem }
  return data === undefined && last?.key === key ? last : null
}

/** What the service refuses for a moment is called again first; without a service, that may go on for long. */
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
