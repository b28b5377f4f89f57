import { Box, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { StorageBanner } from '../../components/storage-banner.tsx'

interface GateProps {
  readonly title: string
  readonly about?: ReactNode
  readonly children: ReactNode
}

/** The frame of pages without a session: one form in the middle. */
export function Gate({ title, about, children }: GateProps) {
  useDocumentTitle(`${title} · Nuncio`)
  return (
    <Box component="main" mih="100dvh" p="md" pt="10vh">
      <Stack maw={420} mx="auto" gap="md">
        <Text fw={700} size="lg" ta="center">
          Nuncio
        </Text>
        <StorageBanner />
        <Paper withBorder p="lg">
          <Stack gap="md">
            <div>
              <Title order={1} tabIndex={-1} data-page-title>
                {title}
              </Title>
              {about ? (
                <Text c="dimmed" size="sm" mt={4} component="div">
                  {about}
                </Text>
              ) : null}
            </div>
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Box>
  )
}
