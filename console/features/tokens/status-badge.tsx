import { Group } from '@mantine/core'
import { Ban, CircleCheck, Hourglass, TimerOff } from 'lucide-react'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { type TokenTimes, tokenStatusOf } from './token-labels.ts'

/** The status of a token, as one word. */
export function TokenStatusBadge({ token }: { readonly token: TokenTimes }) {
  switch (tokenStatusOf(token)) {
    case 'deleted':
      return (
        <GroupLabel group="closed" icon={Ban}>
          Deleted
        </GroupLabel>
      )
    case 'expired':
      return (
        <GroupLabel group="notsent" icon={TimerOff}>
          Expired
        </GroupLabel>
      )
    case 'ends-today':
      return (
        <GroupLabel group="notsent" icon={Hourglass}>
          Expires today
        </GroupLabel>
      )
    case 'ends-soon':
      return (
        <GroupLabel group="attend" icon={Hourglass}>
          Expires soon
        </GroupLabel>
      )
    default:
      return (
        <GroupLabel group="sent" icon={CircleCheck}>
          Active
        </GroupLabel>
      )
  }
}

/** When the token ends or ended; a badge if that is near. */
export function TokenEnd({ token }: { readonly token: TokenTimes }) {
  const { deletedAt, expiresAt } = token
  const status = tokenStatusOf(token)
  return (
    <Group component="span" display="inline-flex" gap={6}>
      <TimeAgo at={deletedAt ?? expiresAt} isQuiet />
      {status === 'ends-soon' || status === 'ends-today' ? <TokenStatusBadge token={token} /> : null}
    </Group>
  )
}
