import { Code, Stack, Text } from '@mantine/core'
import type { ReplyFor } from '../../api/call.ts'
import { useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { browserName } from '../people/browser-name.ts'
import { auditFact, auditLabels } from './audit-labels.ts'

type Entry = ReplyFor<'listAudit'>['items'][number]

const COLUMNS: readonly Column<Entry>[] = [
  { key: 'at', header: 'When', cell: ({ at }) => <TimeAgo at={at} />, width: 150 },
  { key: 'who', header: 'Who', card: 'aside', cell: ({ actor }) => actor },
  { key: 'what', header: 'What', wraps: true, card: 'text', cell: (entry) => <What {...entry} /> },
  {
    key: 'where',
    header: 'From',
    hideBelow: 1200,
    cell: ({ remoteAddress, userAgent }) =>
      remoteAddress === null ? (
        'the machine'
      ) : (
        <>
          {remoteAddress}{' '}
          <Text span size="sm" c="dimmed">
            {browserName(userAgent)}
          </Text>
        </>
      ),
  },
]

export function Audit() {
  const { id } = useAccount()
  const entries = useApiPages('listAudit', (before) => ({ params: { account: id }, query: { before } }))
  return (
    <Page
      title="Audit log"
      about="Every change to this account and how its people signed in, newest first. It is only ever added to."
    >
      <DataTable
        caption="Audit log"
        columns={COLUMNS}
        source={entries}
        keyOf={({ id: entry }) => entry}
        empty={
          <EmptyState kind="nothing-yet" title="Nothing has happened yet" text="What people change shows up here." />
        }
      />
    </Page>
  )
}

function What({ action, object, detail }: Entry) {
  const facts = Object.entries(detail ?? {}).filter(([, value]) => value !== null && value !== '')
  return (
    <Stack gap={2}>
      <Text size="sm">{auditLabels(action)}</Text>
      <Text size="xs" c="dimmed" component="div">
        <Code>{object}</Code>
        {facts.map(([name, value]) => (
          <span key={name}> · {auditFact(name, value)}</span>
        ))}
      </Text>
    </Stack>
  )
}
