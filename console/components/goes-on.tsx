import { Text } from '@mantine/core'
import { endNote, isAnyMoment, NEEDS_PERSON } from '../../src/format/waits.ts'
import { TimeAgo } from './time-ago.tsx'
import { useNow } from './use-now.ts'

interface GoesOnProps {
  readonly until: number
  /** The code of the reason that it waits for. */
  readonly code: string
}

/** When a wait ends by itself. Empty for a wait that only a person can end. */
export function GoesOn({ until, code }: GoesOnProps) {
  const now = useNow()
  if (NEEDS_PERSON.has(code)) return null
  return (
    <Text size="sm" component="div">
      {isAnyMoment(until, now) ? (
        'It goes on any moment.'
      ) : (
        <>
          It goes on by itself: <TimeAgo at={until} />
          {endNote(code)}
        </>
      )}
    </Text>
  )
}
