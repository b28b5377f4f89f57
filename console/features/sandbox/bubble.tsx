import { Group, Text, Tooltip, UnstyledButton } from '@mantine/core'
import { Check, CheckCheck } from 'lucide-react'
import type { Delivery } from '../../../src/contract/console/sandbox.ts'
import { plainTime } from '../../../src/format/instants.ts'
import { exactLocal, localClock } from '../../components/instants.ts'
import { StateLabel } from '../../components/state-label.tsx'
import { MediaView } from './media-view.tsx'
import classes from './sandbox.module.css'
import { usePlace } from './use-place.ts'

/** One delivery, as its recipient would see it, and the state of its message. */
export function Bubble({ delivery, connection }: { readonly delivery: Delivery; readonly connection: string }) {
  const [, go] = usePlace()
  const { key, at, attempt, text, media, state } = delivery
  return (
    <article className={classes['bubble'] ?? ''} aria-label={`Delivered at ${localClock(at)}`}>
      {media ? <MediaView delivery={delivery} media={media} connection={connection} /> : null}
      {/* Links stay text: nothing that a message names is fetched by looking at it. */}
      {text === null ? null : <Text className={classes['words'] ?? ''}>{text}</Text>}
      {media?.caption ? <Text className={classes['words'] ?? ''}>{media.caption}</Text> : null}
      <Group gap="xs" justify="space-between" mt={4}>
        <UnstyledButton className={classes['details'] ?? ''} onClick={() => go({ at: key }, { isStep: true })}>
          Details
        </UnstyledButton>
        <Group gap={6} wrap="nowrap">
          {attempt > 1 ? (
            <Text span size="xs" c="dimmed">
              attempt {attempt}
            </Text>
          ) : null}
          <TimelineEntry at={at} />
          <Ticks state={state} />
        </Group>
      </Group>
    </article>
  )
}

function TimelineEntry({ at }: { readonly at: number }) {
  return (
    <Tooltip
      label={
        <>
          <div>{exactLocal(at)}</div>
          <div>{plainTime(at)}</div>
        </>
      }
    >
      <Text component="time" size="xs" c="dimmed" dateTime={new Date(at).toISOString()}>
        {localClock(at)}
      </Text>
    </Tooltip>
  )
}

const TICKED: Readonly<Record<string, string>> = { PUBLISHED: 'Published', DELIVERED: 'Delivered', READ: 'Read' }

/** One tick: the network accepted it. Two: it was delivered or read. The word says which. */
function Ticks({ state }: { readonly state: string | null }) {
  if (state === null) return null
  const word = TICKED[state]
  if (word === undefined) return <StateLabel state={state} />
  const Icon = state === 'PUBLISHED' ? Check : CheckCheck
  return (
    <Group gap={2} wrap="nowrap">
      <Text span size="xs" c="dimmed">
        {word}
      </Text>
      <Icon size={15} aria-hidden className={classes['tick'] ?? ''} data-state={state} />
    </Group>
  )
}
