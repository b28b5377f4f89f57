import { Box, Group, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { Breakable } from './breakable.tsx'
import { AwayBanner } from './live-status.tsx'
import classes from './page.module.css'
import { StorageBanner } from './storage-banner.tsx'

interface PageProps {
  readonly title: string
  /** The object of the page: its h1, and in the browser's tab, as in "API token · Checkout · Nuncio". */
  readonly detail?: string | undefined
  /** One line below the title. */
  readonly about?: ReactNode
  /** Beside the title: a state. */
  readonly badge?: ReactNode
  /** Right of the title: buttons. */
  readonly actions?: ReactNode
  /** Above the title: the way back, as a link. */
  readonly back?: ReactNode
  readonly children: ReactNode
}

/** The frame of every page: its h1, its title in the browser, its actions. */
export function Page({ title, detail, about, badge, actions, back, children }: PageProps) {
  useDocumentTitle([title, detail, 'Nuncio'].filter(Boolean).join(' · '))
  return (
    <Stack gap="md" maw={1400}>
      <StorageBanner />
      <AwayBanner />
      <Box>
        {back}
        <Group justify="space-between" align="flex-start" gap="sm" className={classes['head'] ?? ''}>
          <Group gap="sm" style={{ minWidth: 0 }}>
            <Title order={1} tabIndex={-1} data-page-title style={{ overflowWrap: 'anywhere' }}>
              <Breakable text={detail ?? title} />
            </Title>
            {badge}
          </Group>
          {actions ? (
            <Group gap="xs" className={classes['actions'] ?? ''}>
              {actions}
            </Group>
          ) : null}
        </Group>
        {about ? (
          <Text c="dimmed" size="sm" mt={4} maw={760} component="div">
            {about}
          </Text>
        ) : null}
      </Box>
      {children}
    </Stack>
  )
}
