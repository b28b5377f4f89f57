import { Group, Paper, Stack, Title } from '@mantine/core'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { AlarmText } from '../../components/alarm-text.tsx'
import { TextLink } from '../../components/links.tsx'
import { SeverityBadge } from '../../components/severity-badge.tsx'

const SHOWN = 5
// Each has its own note on this page.
const SHOWN_SEPARATELY: readonly string[] = ['lanes_held', 'token_expiring']

/** Open alarms that need attention, the most severe first. */
export function OpenAlarms() {
  const { id: account } = useAccount()
  const { data } = useApiQuery('readOpenAlarms', { params: { account } })
  const open = data?.items.filter(({ kind }) => !SHOWN_SEPARATELY.includes(kind)) ?? []
  if (open.length === 0) return null
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="alarms">
      <Stack gap="sm">
        <Title order={2} id="alarms">
          Alarms
        </Title>
        {open.slice(0, SHOWN).map((alarm) => (
          <Group key={alarm.id} gap="sm" align="flex-start" wrap="nowrap" data-alarm={alarm.kind}>
            <SeverityBadge severity={alarm.severity} />
            <AlarmText alarm={alarm} />
          </Group>
        ))}
        <TextLink to="/a/$account/alarms" params={{ account }} size="sm">
          {open.length > SHOWN ? `${open.length - SHOWN} more, and those that are over` : 'All alarms'}
        </TextLink>
      </Stack>
    </Paper>
  )
}
