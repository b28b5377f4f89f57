import { Text } from '@mantine/core'
import { CircleCheck, CircleHelp } from 'lucide-react'
import { useOfflineSince } from '../../components/use-live.ts'
import classes from './attention.module.css'

/** In one line, because it is good news; not while the service does not answer. */
export function NothingNow() {
  const isOffline = useOfflineSince() !== null
  return (
    <Text size="sm" px="md" py="sm" className={classes['nothing'] ?? ''}>
      {isOffline ? (
        <>
          <CircleHelp size={16} aria-hidden color="var(--nc-attend-fg)" /> Not known while the service does not answer.
        </>
      ) : (
        <>
          <CircleCheck size={16} aria-hidden color="var(--nc-sent-fg)" /> Nothing needs your attention.
        </>
      )}
    </Text>
  )
}
