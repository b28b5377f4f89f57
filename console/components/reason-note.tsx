import { Alert, Code, Stack, Text } from '@mantine/core'
import { Info } from 'lucide-react'
import type { ReactNode } from 'react'
import { STATE_GROUPS, type StateGroup } from '../app/theme.ts'
import { CodeLink } from './code-link.tsx'

interface ReasonNoteProps {
  /** Stable code, as in docs/reasons.md. */
  readonly code: string
  readonly meaning: string
  readonly whatToDo?: string | null | undefined
  /** The channel's own message, unchanged. */
  readonly channelSaid?: string | null | undefined
  readonly group?: StateGroup
  /** Where the code has its row. */
  readonly page?: 'reasons' | 'alarms'
  readonly children?: ReactNode
}

/** Why something failed or waits: first the meaning, then what to do, then the code and the channel's message. */
export function ReasonNote({
  code,
  meaning,
  whatToDo,
  channelSaid,
  group = 'notsent',
  page = 'reasons',
  children,
}: ReasonNoteProps) {
  return (
    <Alert color={STATE_GROUPS[group].alias} variant="light" icon={<Info aria-hidden />} title={meaning}>
      <Stack gap={6}>
        {whatToDo ? <Text size="sm">{whatToDo}</Text> : null}
        {channelSaid ? (
          <Text size="sm">
            The channel said: <Code>{channelSaid}</Code>
          </Text>
        ) : null}
        <Text size="xs">
          Reason <CodeLink code={code} page={page} />
        </Text>
        {children}
      </Stack>
    </Alert>
  )
}
