import { Alert, Text } from '@mantine/core'
import { localClock } from './instants.ts'
import classes from './live-status.module.css'
import { useLive, useOfflineSince } from './use-live.ts'

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

const WORDS = { live: 'Live', paused: 'Updates paused', reconnecting: 'Reconnecting…', offline: 'Offline' } as const

/** The state of live updates; pauses and starts them. */
export function LiveSwitch() {
  const { state, toggle } = useLive()
  const isPaused = state === 'paused'
  return (
    <button
      type="button"
      className={classes['live'] ?? ''}
      data-state={state}
      aria-pressed={!isPaused}
      aria-label={state === 'live' ? 'Live updates' : `Live updates, ${state}`}
      title={isPaused ? 'Start live updates' : 'Pause live updates'}
      onClick={toggle}
    >
      <span className={classes['word'] ?? ''}>{WORDS[state]}</span>
    </button>
  )
}
