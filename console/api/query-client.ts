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
        // The service may be on this machine, or fail while the browser has a network.
        networkMode: 'always',
      },
      // A change that may have succeeded is not repeated automatically.
      mutations: { retry: false, networkMode: 'always' },
    },
  })
}
