import { Alert, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from 'react'
import { addressOf } from '../api/call.ts'
import { type LiveStatus, LiveStream } from '../api/live.ts'
import { localClock } from './instants.ts'
import classes from './live.module.css'

const LiveContext = createContext<LiveStream | null>(null)
const NOT_LIVE: LiveStatus = { state: 'paused', dataAsOf: null }

interface LiveProviderProps {
  readonly account: string
  readonly onSignedOut: () => void
  readonly children: ReactNode
}

/** Keeps the data on screen fresh: reloads it when the server reports a change. */
export function LiveProvider({ account, onSignedOut, children }: LiveProviderProps) {
  const client = useQueryClient()
  const stream = useMemo(() => {
    const onChanged = () =>
      void client.invalidateQueries({
        predicate: ({ meta, state }) => meta?.['isLive'] !== false && !hasTooManyPages(state.data, meta?.['livePages']),
      })
    return new LiveStream(addressOf('watchAccount', { params: { account } }), { onChanged, onSignedOut })
  }, [account, client, onSignedOut])
  useEffect(() => {
    stream.start()
    return () => stream.stop()
  }, [stream])
  return <LiveContext value={stream}>{children}</LiveContext>
}

function hasTooManyPages(data: unknown, limit: unknown): boolean {
  const pages = (data as { readonly pages?: readonly unknown[] } | undefined)?.pages
  return typeof limit === 'number' && (pages?.length ?? 0) > limit
}

export function useLive(): LiveStatus & { readonly toggle: () => void } {
  const stream = useContext(LiveContext)
  const status = useSyncExternalStore(stream?.subscribe ?? subscribeToNothing, stream?.status ?? notLive)
  return { ...status, toggle: () => stream?.toggle() }
}

const subscribeToNothing = () => () => {}
const notLive = () => NOT_LIVE

/** Shown on every page of an account while the service does not answer. */
export function AwayBanner() {
  const { dataAsOf } = useLive()
  if (dataAsOf === null) return null
  return (
    <Alert color="yellow" variant="light" title="The service does not answer" role="alert">
      <Text size="sm">This page shows what was known at {localClock(dataAsOf)}. It goes on by itself.</Text>
    </Alert>
  )
}

/** Live | Paused | Offline. */
export function LiveSwitch() {
  const { state, toggle } = useLive()
  const isPaused = state === 'paused'
  return (
    <button
      type="button"
      className={classes['live'] ?? ''}
      data-state={state}
      aria-pressed={!isPaused}
      aria-label={state === 'reconnecting' ? 'Live updates, reconnecting' : 'Live updates'}
      title={isPaused ? 'Start live updates' : 'Pause live updates'}
      onClick={toggle}
    >
      <span className={classes['word'] ?? ''}>
        {isPaused ? 'Paused' : state === 'reconnecting' ? 'Offline' : 'Live'}
      </span>
    </button>
  )
}
