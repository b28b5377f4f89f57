import { Alert, Code, Stack, Text } from '@mantine/core'
import { OctagonPause } from 'lucide-react'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { useCommandLine } from '../../api/use-command-line.ts'
import { TimeAgo } from '../../components/time-ago.tsx'

/** All lanes are held until a person releases them. */
export function HoldBanner({ hold }: Pick<OverviewReply, 'hold'>) {
  const commandLine = useCommandLine()
  if (hold === null) return null
  return (
    <Alert
      color="red"
      variant="light"
      role="alert"
      icon={<OctagonPause aria-hidden />}
      title="All messages are held back"
    >
      <Stack gap="xs">
        <Text size="sm" component="div">
          Since <TimeAgo at={hold.since} />, no attempt begins on any connection: {hold.reason}. One that had begun is
          brought to its end. Messages are still accepted, and wait in their order.
        </Text>
        <Text size="sm" component="div">
          If the database has gone back, such as to a backup, what was sent since may be sent once more. So check what
          arrived meanwhile, cancel what must not go out again, and then ask the person who runs the service to type{' '}
          <Code>{commandLine`hold --release`}</Code>.
        </Text>
      </Stack>
    </Alert>
  )
}
