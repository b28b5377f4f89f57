import { Alert, Text } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import { useApiQuery } from '../api/queries.ts'
import { TimeAgo } from './time-ago.tsx'

const ASK_EVERY_MS = 5_000

/** Shown on every page while the service cannot write. The service answers this without its database. */
export function StorageBanner() {
  const { data } = useApiQuery('readStorage', {}, { everyMs: ASK_EVERY_MS })
  if (!data?.error) return null
  const { title, cause, since } = data.error
  return (
    <Alert
      color="red"
      variant="filled"
      icon={<TriangleAlert aria-hidden />}
      title={title}
      role="alert"
      data-storage-banner
    >
      <Text size="sm" component="div">
        {cause} Nothing can be accepted or sent
        {since === null ? null : (
          <>
            {' '}
            since <TimeAgo at={since} />
          </>
        )}
        . Ask the person who runs Nuncio to make room on the disk or to repair the database. Nuncio goes on by itself.
      </Text>
    </Alert>
  )
}
