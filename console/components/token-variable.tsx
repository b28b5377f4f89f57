import { Code, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** How a call that names it gets the token. */
export function TokenVariable({ children }: { readonly children?: ReactNode }) {
  return (
    <Text size="sm" c="dimmed">
      First put your token into an environment variable, so that no file holds it:{' '}
      <Code style={{ whiteSpace: 'nowrap' }}>export NUNCIO_TOKEN=nco_…</Code> {children}
    </Text>
  )
}
