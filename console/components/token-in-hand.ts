import { useQuery, useQueryClient } from '@tanstack/react-query'

const keyOf = (account: string) => ['token in hand', account]

/**
 * The API token that this person pasted or has just created, for trying things out: in the memory of this tab only,
 * and forgotten when they sign out. Null: none.
 */
export function useTokenInHand(account: string): [string | null, (token: string | null) => void] {
  const client = useQueryClient()
  const { data = null } = useQuery<string | null>({
    queryKey: keyOf(account),
    // Nobody can be asked for it: it is there, or it is not.
    queryFn: () => null,
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
    staleTime: Number.POSITIVE_INFINITY,
    meta: { isLive: false },
  })
  const keep = (token: string | null) => {
    client.setQueryDefaults(keyOf(account), { gcTime: Number.POSITIVE_INFINITY })
    client.setQueryData(keyOf(account), token)
  }
  return [data, keep]
}
