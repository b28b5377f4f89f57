import { Paper, Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'

/** A part of a page in a frame, with its heading. */
export function SectionBox({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Paper withBorder p="lg" maw={860} component="section" aria-label={title}>
      <Stack gap="md">
        <Title order={2}>{title}</Title>
        {children}
      </Stack>
    </Paper>
  )
}
