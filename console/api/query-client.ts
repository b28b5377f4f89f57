import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { needsSignIn, type RouteName } from './call.ts'
import { CallProblem } from './call-problem.ts'

export const RETRIES = 2

/** `onSignedOut`: a call that needs a session was refused without one. */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  const watch = (error: Error, route: unknown) => {
    const isSignedOut = error instanceof CallProblem && error.status === 401
    if (isSignedOut && typeof route === 'string' && needsSignIn(route as RouteName)) onSignedOut()
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError: (error, query) => watch(error, query.queryKey[0]) }),
    mutationCache: new MutationCache({ onError: (error, ...[, , mutation]) => watch(error, mutation.meta?.['route']) }),
    defaultOptions: {
      queries: {
        // Long enough that going back shows the old data, short enough that it reloads at once.
        staleTime: 2_000,
        refetchOnWindowFocus: true,
      },
      // A change that may have succeeded is not repeated automatically.
      mutations: { retry: false },
    },
  })
}

/** The service may answer the same call in a moment. */
export function isPassing(error: Error): boolean {
  return error instanceof CallProblem && (error.status === 0 || error.status >= 502)
}

/** Nothing answers, or a proxy says so. What the service itself refuses, or takes too long for, is another matter. */
export function isAway(error: Error): boolean {
  if (!(error instanceof CallProblem)) return false
  return error.status === 0 || (error.code === 'unexpected_reply' && (error.status === 502 || error.status === 503))
}
