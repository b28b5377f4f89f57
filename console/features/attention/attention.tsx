import { Paper, Stack, Title } from '@mantine/core'
import type { AlarmReply } from '../../../src/contract/console/alarms.ts'
import { useApiPages, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { AlarmText } from '../../components/alarm-text.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { GroupLabel } from '../../components/state-label.tsx'
import classes from './attention.module.css'
import { AttentionRow } from './attention-row.tsx'
import { unseen } from './attention-text.ts'
import { NothingNow } from './nothing-now.tsx'

const COLUMNS: readonly Column<AlarmReply>[] = [
  { key: 'state', header: 'State', width: 110, cell: () => <GroupLabel group="sent">Over</GroupLabel> },
  { key: 'what', header: 'What', wraps: true, card: 'text', cell: (alarm) => <AlarmText alarm={alarm} /> },
]

/** Everything that waits for a person, what was seen of it, and what is over. */
export function Attention() {
  const { id: account } = useAccount()
  const asked = useApiQuery('readAttention', { params: { account } })
  const alarms = useApiPages('listAlarms', (before) => ({ params: { account }, query: { before } }))
  const items = asked.data?.items ?? []
  const open = unseen(items)
  const seen = items.filter((item) => item.seen !== null)
  return (
    <Page
      title="Needs attention"
      about="What waits for a person: open alarms, numbers that only a person can start again, webhooks that are disabled or have failed for 15 minutes, and messages of the last 7 days that were not sent. Messages to blocked recipients are left out. Seen hides one until there is something newer."
    >
      {asked.error && !asked.data ? (
        <ProblemNote problem={asked.error} onRetry={() => void asked.refetch()} />
      ) : (
        <Paper withBorder component="section" aria-label="Now">
          {asked.data && open.length === 0 ? <NothingNow /> : null}
          <ul className={classes['list']}>
            {open.map((item) => (
              <AttentionRow key={item.key} item={item} />
            ))}
          </ul>
        </Paper>
      )}
      {seen.length > 0 ? (
        <Stack gap="xs" component="section" aria-labelledby="seen">
          <Title order={2} id="seen">
            Seen
          </Title>
          <Paper withBorder>
            <ul className={classes['list']}>
              {seen.map((item) => (
                <AttentionRow key={item.key} item={item} />
              ))}
            </ul>
          </Paper>
        </Stack>
      ) : null}
      <Stack gap="xs" component="section" aria-labelledby="over">
        <Title order={2} id="over">
          Over in the last 90 days
        </Title>
        <DataTable
          caption="Alarms that are over"
          columns={COLUMNS}
          source={{ ...alarms, rows: alarms.rows.filter(({ clearedAt }) => clearedAt !== null) }}
          keyOf={({ id }) => id}
          empty={
            <EmptyState
              kind="nothing-yet"
              title="No alarm has ended"
              text="Alarms that are over stay here for 90 days."
            />
          }
        />
      </Stack>
    </Page>
  )
}
