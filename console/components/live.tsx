import { Alert, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo } from 'react'
import { addressOf } from '../api/call.ts'
import { LiveStream } from '../api/live.ts'
import { localClock } from './instants.ts'
import classes from './live.module.css'
import { serviceAnswers } from './load-later.ts'
import { LiveContext, useLive, useOfflineSince } from './use-live.ts'

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
    const given = { onChanged, onSignedOut, answers: serviceAnswers }
    return new LiveStream(addressOf('watchAccount', { params: { account } }), given)
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

/** Shown on every page of an account while the service does not answer. */
export function AwayBanner() {
  const since = useOfflineSince()
  if (since === null) return null
  return (
    <Alert color="yellow" variant="light" title="The service does not answer" role="alert">
      <Text size="sm">
        It has not answered since {localClock(since)}. What you see is from then, or older. When it answers again, the
        page goes on by itself.
      </Text>
    </Alert>
  )
}

const WORDS = { live: 'Live', paused: 'Paused', reconnecting: 'Reconnecting…', offline: 'Offline' } as const

/** The state of live updates; pauses and starts them. */
export function LiveSwitch() {
  const { state, lostAt, toggle } = useLive()
  const isPaused = state === 'paused'
  return (
    <button
      type="button"
      className={classes['live'] ?? ''}
      data-state={state}
      aria-pressed={!isPaused}
      aria-label={lostAt === null ? 'Live updates' : `Live updates, ${state}`}
      title={isPaused ? 'Start live updates' : 'Pause live updates'}
      onClick={toggle}
    >
      <span className={classes['word'] ?? ''}>{WORDS[state]}</span>
    </button>
  )
}
