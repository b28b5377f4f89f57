import { useQuery, useQueryClient } from '@tanstack/react-query'

const keyOf = (account: string) => ['token in hand', account]

/** Whether it is the token whose first characters after `nco_` are these. */
export function isTokenOf(token: string | null, prefix: string): boolean {
  return token?.startsWith(`nco_${prefix}`) ?? false
}

/**
 * The API token that this person pasted or has just created, for trying things out. Only in the memory of this tab, until
 * they sign out. Null: none.
 */
export function useTokenInHand(account: string): [string | null, (token: string | null) => void] {
  const client = useQueryClient()
  const { data = null } = useQuery<string | null>({
    queryKey: keyOf(account),
    // It cannot be loaded: it exists in memory, or not at all.
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
