import { Stack, Text } from '@mantine/core'
import { Ban, CircleCheck, Hourglass, TimerOff } from 'lucide-react'
import type { TokenRowReply } from '../../../src/contract/console/tokens.ts'
import { ToneBadge } from '../../components/state-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { tokenStatusOf } from './token-labels.ts'

type Given = Pick<TokenRowReply, 'deletedAt' | 'expiresAt'>

/** The status of a token, as one word. */
export function TokenStatusBadge({ token }: { readonly token: Given }) {
  switch (tokenStatusOf(token)) {
    case 'deleted':
      return (
        <ToneBadge tone="quiet" icon={Ban}>
          Deleted
        </ToneBadge>
      )
    case 'expired':
      return (
        <ToneBadge tone="bad" icon={TimerOff}>
          Expired
        </ToneBadge>
      )
    case 'ends-today':
      return (
        <ToneBadge tone="bad" icon={Hourglass}>
          Expires today
        </ToneBadge>
      )
    case 'ends-soon':
      return (
        <ToneBadge tone="warn" icon={Hourglass}>
          Expires soon
        </ToneBadge>
      )
    default:
      return (
        <ToneBadge tone="good" icon={CircleCheck}>
          Active
        </ToneBadge>
      )
  }
}

/** When the token ends or ended; a badge if that is near. */
export function TokenEnd({ token }: { readonly token: Given }) {
  const { deletedAt, expiresAt } = token
  return (
    <Stack gap={2} align="flex-start">
      <Text size="sm" component="span">
        <TimeAgo at={deletedAt ?? expiresAt} isQuiet />
      </Text>
      {tokenStatusOf(token) === 'active' ? null : <TokenStatusBadge token={token} />}
    </Stack>
  )
}
