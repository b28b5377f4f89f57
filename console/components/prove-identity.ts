import { createContext, useContext } from 'react'

export type ProveIdentity = () => Promise<boolean>

export const ProveContext = createContext<ProveIdentity>(() => Promise.resolve(false))

/** True: confirmed, repeat the call. False: the person gave up. */
export function useProveIdentity(): ProveIdentity {
  return useContext(ProveContext)
}
