import { createContext, useContext, useSyncExternalStore } from 'react'
import type { LiveStatus, LiveStream } from '../api/live.ts'

export const LiveContext = createContext<LiveStream | null>(null)
const NOT_LIVE: LiveStatus = { state: 'paused', lostAt: null }

export function useLive(): LiveStatus & { readonly toggle: () => void } {
  const stream = useContext(LiveContext)
  const read = stream?.status ?? notLive
  const status = useSyncExternalStore(stream?.subscribe ?? subscribeToNothing, read, read)
  return { ...status, toggle: () => stream?.toggle() }
}

const subscribeToNothing = () => () => {}
const notLive = () => NOT_LIVE

/** Since when the service has not answered. Null: it answers, as far as is known. */
export function useOfflineSince(): number | null {
  const { state, lostAt } = useLive()
  return state === 'offline' ? lostAt : null
}
