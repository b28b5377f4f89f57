import { Paper, Stack, Text, ThemeIcon } from '@mantine/core'
import type { ReactNode } from 'react'
import type { LaneWaitView } from '../../src/contract/console/connections.ts'
import { CodeLink } from './code-link.tsx'
import classes from './result-card.module.css'
import { Sentence } from './sentence.tsx'
import type { StateDisplay } from './state-display.ts'

interface ResultCardProps {
  /** Colour and icon of the badge beside the title. */
  readonly display: Pick<StateDisplay, 'group' | 'icon'>
  /** The answer: whether it was sent. */
  readonly sentence: string
  /** Causes, and what was done. */
  readonly children?: ReactNode
}

/** The answer to the question of a page, before all else. */
export function ResultCard({ display, sentence, children }: ResultCardProps) {
  const { group, icon: Icon } = display
  const ground = { background: `var(--nc-${group}-bg)`, color: `var(--nc-${group}-fg)` }
  return (
    <Paper
      withBorder
      className={classes['card'] ?? ''}
      style={{ borderLeft: `4px solid var(--nc-${group}-solid)` }}
      role="group"
      aria-label="Result"
    >
      <ThemeIcon size={36} radius="xl" style={ground} visibleFrom="sm" aria-hidden>
        <Icon size={20} />
      </ThemeIcon>
      <Stack gap="xs" className={classes['body'] ?? ''}>
        <Text size="lg" fw={600} c="bright">
          <Sentence text={sentence} />
        </Text>
        {children}
      </Stack>
    </Paper>
  )
}

interface CauseProps {
  /** Stable code, which has a row on a page of the documents. Null: there is none. */
  readonly code: string | null
  readonly page?: 'reasons' | 'refusals'
  readonly meaning: string
  readonly whatToDo: string | null
  /** Foreign words and whose they are: "Meta said". */
  readonly quote?: LaneWaitView['quote']
  readonly children?: ReactNode
}

/** Why it is so, what to do, and who said what. */
export function Cause({ code, page = 'reasons', meaning, whatToDo, quote = null, children }: CauseProps) {
  return (
    <Stack gap={6}>
      <Text>
        <Sentence text={meaning} /> {code === null ? null : <CodeLink code={code} page={page} />}
      </Text>
      {whatToDo === null || whatToDo === '' ? null : <WhatToDo step={whatToDo} />}
      {quote === null ? null : (
        <div className={classes['quote'] ?? ''}>
          <Text size="xs" c="dimmed">
            {quote.speaker}:
          </Text>
          <Text size="sm" ff="monospace" fz={12}>
            {quote.words}
          </Text>
        </div>
      )}
      {children}
    </Stack>
  )
}

/** With its label, unless it is a sentence that needs none. */
export function WhatToDo({ step, size = 'md' }: { readonly step: string; readonly size?: 'sm' | 'md' }) {
  if (step.startsWith('You need not do anything')) return <Text size={size}>{step}</Text>
  return (
    <Text size={size}>
      <b>What to do:</b> {step}
    </Text>
  )
}
