import { Alert, Code, Stack, Text } from '@mantine/core'
import { Info } from 'lucide-react'
import type { ReactNode } from 'react'
import type { LaneWaitView } from '../../src/contract/console/connections.ts'
import { STATE_GROUPS, type StateGroup } from '../app/theme.ts'
import { CodeLink } from './code-link.tsx'
import { WhatToDo } from './result-card.tsx'
import { Sentence } from './sentence.tsx'

interface ReasonNoteProps {
  /** Stable code, as in docs/reasons.md. */
  readonly code: string
  readonly meaning: string
  readonly whatToDo?: string | null | undefined
  readonly quote?: LaneWaitView['quote']
  readonly group?: StateGroup
  /** Where the code has its row. */
  readonly page?: 'reasons' | 'alarms'
  readonly children?: ReactNode
}

/** Why something failed or waits: first the meaning, then what to do, then the words that came with it, and the code. */
export function ReasonNote({
  code,
  meaning,
  whatToDo,
  quote = null,
  group = 'notsent',
  page = 'reasons',
  children,
}: ReasonNoteProps) {
  return (
    <Alert
      color={STATE_GROUPS[group].alias}
      variant="light"
      icon={<Info aria-hidden />}
      title={<Sentence text={meaning} />}
    >
      <Stack gap={6}>
        {whatToDo ? <WhatToDo step={whatToDo} size="sm" /> : null}
        {quote === null ? null : (
          <Text size="sm">
            {quote.speaker}: <Code>{quote.words}</Code>
          </Text>
        )}
        <Text size="xs">
          Reason <CodeLink code={code} page={page} />
        </Text>
        {children}
      </Stack>
    </Alert>
  )
}
