import { Button, Group, Paper, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import { Inbox, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { ProblemNote } from './problem-note.tsx'

type EmptyStateProps =
  /** For an empty list: what it will show, and the next step as one button or link. */
  | { readonly kind: 'nothing-yet'; readonly title: string; readonly text: ReactNode; readonly action?: ReactNode }
  /** The list is not empty, but the filters match nothing. */
  | { readonly kind: 'no-match'; readonly text: ReactNode; readonly onClear: () => void; readonly action?: ReactNode }
  | { readonly kind: 'failed'; readonly problem: Error; readonly onRetry: () => void }

/** Shown in place of an empty list. Says what to do next. */
export function EmptyState(props: EmptyStateProps) {
  if (props.kind === 'failed') return <ProblemNote problem={props.problem} onRetry={props.onRetry} />
  const isFilter = props.kind === 'no-match'
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="sm" ta="center">
        <ThemeIcon variant="light" size={48} radius="xl" aria-hidden>
          {isFilter ? <SearchX /> : <Inbox />}
        </ThemeIcon>
        <Title order={2}>{isFilter ? 'Nothing matches these filters' : props.title}</Title>
        <Text c="dimmed" size="sm" maw={520} component="div">
          {props.text}
        </Text>
        {isFilter ? (
          <Group gap="xs">
            {props.action}
            <Button variant="default" onClick={props.onClear}>
              Clear filters
            </Button>
          </Group>
        ) : (
          props.action
        )}
      </Stack>
    </Paper>
  )
}
