import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useRef } from 'react'
import { useProveIdentity } from '../components/prove-identity.ts'
import { call, type InputFor, type ReplyFor, type RouteName } from './call.ts'
import { CallProblem, isAway, isPassing } from './call-problem.ts'
import { type Failure, failedResult, failureOf, type Seen } from './failure.ts'
import { RETRIES } from './query-client.ts'

// With more pages than this, reloading all of them at every change would cost too much.
const LIVE_PAGES = 4
// After a change. A service that went away meanwhile must not keep back what the change gave, such as a new secret.
const RELOADED_WITHIN_MS = 3_000

interface QueryOptions<Reply = unknown> {
  /** False: do not load yet, because an input is missing. */
  readonly enabled?: boolean
  /** Keep the last reply on screen while another input loads. */
  readonly keepsPrevious?: boolean
  readonly everyMs?: number | ((reply: Reply | undefined) => number)
  /** Ends `everyMs` with the first reply for which it is true. */
  readonly isLast?: (reply: Reply) => boolean
  /** False: do not reload when something changes. */
  readonly isLive?: boolean
  /** True: load it whenever a page opens, however young the last reply is. */
  readonly isNewOnOpen?: boolean
}

/** Calls a route. When the server requires step-up, the person is asked to confirm their identity, and it is called again. */
function useProvenCall() {
  const proveIdentity = useProveIdentity()
  return async <Name extends RouteName>(
    name: Name,
    input: InputFor<Name>,
    signal?: AbortSignal,
  ): Promise<ReplyFor<Name>> => {
    try {
      return await call(name, input, signal)
    } catch (error) {
      if (!needsProof(error) || !(await proveIdentity())) throw error
      return await call(name, input, signal)
    }
  }
}

function needsProof(error: unknown): boolean {
  return error instanceof CallProblem && error.code === 'step_up_required'
}

/**
 * A page that has data keeps it while the service is away, and calls until it answers: an error in its place would also take away
 * what a person has typed. The header says that the service is away.
 */
function useRetry(key: readonly unknown[]): (failures: number, error: Error) => boolean {
  const client = useQueryClient()
  return (failures, error) =>
    isPassing(error) && (failures < RETRIES || (isAway(error) && client.getQueryData(key) !== undefined))
}

function useFailure(key: readonly unknown[], result: Seen): CallProblem | null {
  const last = useRef<Failure | null>(null)
  last.current = failureOf({ key: JSON.stringify(key), result, last: last.current })
  return last.current?.problem ?? null
}

/** The reply of a route, kept fresh while it is on screen. */
export function useApiQuery<Name extends RouteName>(
  name: Name,
  input: InputFor<Name>,
  {
    enabled = true,
    keepsPrevious = false,
    everyMs,
    isLast = () => false,
    isLive = true,
    isNewOnOpen = false,
  }: QueryOptions<ReplyFor<Name>> = {},
): UseQueryResult<ReplyFor<Name>, CallProblem> {
  const provenCall = useProvenCall()
  const queryKey = [name, input]
  const retry = useRetry(queryKey)
  const result = useQuery<ReplyFor<Name>, CallProblem>({
    queryKey,
    queryFn: ({ signal }) => provenCall(name, input, signal),
    retry,
    enabled,
    meta: { isLive },
    ...(keepsPrevious ? { placeholderData: keepPreviousData } : {}),
    ...(isNewOnOpen ? { staleTime: 0 } : {}),
    // A person who did not confirm it is not asked again by itself.
    ...(everyMs === undefined
      ? {}
      : {
          refetchInterval: ({ state: { data, error } }) =>
            needsProof(error) || (data !== undefined && isLast(data))
              ? false
              : typeof everyMs === 'number'
                ? everyMs
                : everyMs(data),
        }),
  })
  const failure = useFailure(queryKey, result)
  return result.isPending && failure !== null ? failedResult(result, failure) : result
}

type ItemOf<Reply> = Reply extends { readonly items: readonly (infer Item)[] } ? Item : never

/** The rows of a list and how to get more of them; what `DataTable` takes. */
export interface Rows<Row> {
  readonly rows: readonly Row[]
  readonly isLoading: boolean
  readonly problem: CallProblem | null
  readonly retry: () => void
  readonly hasOlder: boolean
  readonly loadOlder: () => void
  readonly isLoadingOlder: boolean
  /** True when so many pages are loaded that they no longer reload; `backToNewest` ends that. */
  readonly isResting: boolean
  readonly backToNewest: () => void
}

export type PagedRows<Name extends RouteName> = Rows<ItemOf<ReplyFor<Name>>> & {
  /** For other fields of a page, such as how far back the server searched. */
  readonly pages: readonly ReplyFor<Name>[]
  /** True while the rows are still those of the list that was asked for before. */
  readonly isPrevious: boolean
}

interface PagesOptions<Reply> extends Pick<QueryOptions, 'enabled'> {
  /** By what the newest page shows. Null: it is reloaded only when something changes. */
  readonly everyMs?: (newest: Reply) => number | null
}

/** A paged list, newest first. `inputOf` puts the cursor into the route's input; undefined: the first page. */
export function useApiPages<Name extends RouteName>(
  name: Name,
  inputOf: (cursor: string | undefined) => InputFor<Name>,
  { enabled = true, everyMs }: PagesOptions<ReplyFor<Name>> = {},
): PagedRows<Name> {
  const client = useQueryClient()
  const key = [name, 'pages', inputOf(undefined)]
  const retry = useRetry(key)
  const query = useInfiniteQuery({
    queryKey: key,
    retry,
    queryFn: ({ pageParam, signal }) => call(name, inputOf(pageParam), signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last as unknown as { readonly next: string | null }).next ?? undefined,
    enabled,
    placeholderData: keepPreviousData,
    meta: { isLive: true, livePages: LIVE_PAGES },
    refetchInterval: ({ state: { data } }) => (data?.pages[0] && everyMs?.(data.pages[0])) ?? false,
  })
  const failure = useFailure(key, query)
  const pages = query.data?.pages ?? []
  return {
    pages,
    rows: pages.flatMap((page) => (page as unknown as { readonly items: readonly ItemOf<ReplyFor<Name>>[] }).items),
    isPrevious: query.isPlaceholderData,
    isLoading: query.isPending && failure === null,
    problem: failure,
    retry: () => void query.refetch(),
    hasOlder: query.hasNextPage,
    loadOlder: () => void query.fetchNextPage({ cancelRefetch: false }),
    isLoadingOlder: query.isFetchingNextPage,
    isResting: pages.length > LIVE_PAGES,
    backToNewest: () => void client.resetQueries({ queryKey: key, exact: true }),
  }
}

/** The rows of a list without pages. */
export function rowsOf<Reply, Row>(
  query: UseQueryResult<Reply, CallProblem>,
  pick: (reply: Reply) => readonly Row[],
): Rows<Row> {
  return {
    rows: query.data === undefined ? [] : pick(query.data),
    isLoading: query.isPending,
    problem: query.error,
    retry: () => void query.refetch(),
    hasOlder: false,
    loadOlder: () => {},
    isLoadingOlder: false,
    isResting: false,
    backToNewest: () => {},
  }
}

/** A route that changes data. The data on screen is reloaded afterwards. */
export function useApiMutation<Name extends RouteName>(
  name: Name,
): UseMutationResult<ReplyFor<Name>, CallProblem, InputFor<Name>> {
  const client = useQueryClient()
  const provenCall = useProvenCall()
  return useMutation<ReplyFor<Name>, CallProblem, InputFor<Name>>({
    mutationFn: (input) => provenCall(name, input),
    onSuccess: () =>
      Promise.race([client.invalidateQueries(), new Promise((resolve) => setTimeout(resolve, RELOADED_WITHIN_MS))]),
    meta: { route: name },
  })
}
