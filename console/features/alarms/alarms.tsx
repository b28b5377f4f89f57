import type { AlarmReply } from '../../../src/contract/console/alarms.ts'
import { useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { AlarmText } from '../../components/alarm-text.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { SeverityBadge } from '../../components/severity-badge.tsx'
import { GroupLabel } from '../../components/state-label.tsx'

const COLUMNS: readonly Column<AlarmReply>[] = [
  {
    key: 'state',
    header: 'State',
    cell: ({ clearedAt, severity }) =>
      clearedAt === null ? <SeverityBadge severity={severity} /> : <GroupLabel group="sent">Over</GroupLabel>,
    width: 130,
  },
  { key: 'what', header: 'What', wraps: true, card: 'text', cell: (alarm) => <AlarmText alarm={alarm} /> },
]

export function Alarms() {
  const { id: account } = useAccount()
  const alarms = useApiPages('listAlarms', (before) => ({ params: { account }, query: { before } }))
  return (
    <Page
      title="Alarms"
      about="What the watchdog found that a person should know: those that are open, and those of the last 90 days."
    >
      <DataTable
        caption="Alarms"
        columns={COLUMNS}
        source={alarms}
        keyOf={({ id }) => id}
        empty={
          <EmptyState
            kind="nothing-yet"
            title="No alarms"
            text="Lanes, connections, tokens and disks are checked every quarter of a minute. Problems show up here."
          />
        }
      />
    </Page>
  )
}
