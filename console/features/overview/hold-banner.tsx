import { Alert, Group, Stack, Text } from '@mantine/core'
import { OctagonPause } from 'lucide-react'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { ReleaseAll } from '../../components/release-all.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'

/** All lanes are held until a person releases them. */
export function HoldBanner({ hold }: Pick<OverviewReply, 'hold'>) {
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
        <Text size="sm">
          If the database has gone back, such as to a backup, what was sent since may be sent once more. If it was
          copied, the other one may send the same. So check what arrived meanwhile, and cancel what must not go out
          again. Then{' '}
          {hold.mayRelease
            ? 'release all numbers.'
            : 'ask an owner of the only account, or the person who runs Nuncio, to release all numbers.'}
        </Text>
        {hold.mayRelease ? (
          <Group>
            <ReleaseAll />
          </Group>
        ) : null}
      </Stack>
    </Alert>
  )
}
