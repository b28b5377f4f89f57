import { Button, Code, Group, Text } from '@mantine/core'
import { useState } from 'react'
import type { ConnectionTemplateView, ConnectionView } from '../../../src/contract/console/connections.ts'
import { type Rows, rowsOf, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { SectionBox } from '../../components/section-box.tsx'
import { GroupLabel } from '../../components/state-label.tsx'

/** The account's approved templates. Loaded only on demand, because the network is slow. */
export function TemplateList({ connection }: { readonly connection: ConnectionView }) {
  const { id: account } = useAccount()
  const [isWanted, setWanted] = useState(false)
  const asked = useApiQuery(
    'listConnectionTemplates',
    { params: { account, id: connection.id } },
    { enabled: isWanted, isLive: false },
  )
  return (
    <SectionBox title="Templates">
      <Text size="sm">
        To a recipient who has not written to this number for 24 hours, only an approved template may be sent. Name
        those that fit in the settings of this connection.
      </Text>
      {asked.error ? (
        <ProblemNote
          problem={asked.error}
          title="The templates could not be listed"
          onRetry={() => void asked.refetch()}
        />
      ) : asked.data ? (
        <Templates source={rowsOf(asked, ({ templates }) => templates)} />
      ) : (
        <Group>
          <Button variant="default" loading={asked.isFetching} onClick={() => setWanted(true)}>
            Show templates
          </Button>
        </Group>
      )}
    </SectionBox>
  )
}

const COLUMNS: readonly Column<ConnectionTemplateView>[] = [
  {
    key: 'name',
    header: 'Name and language',
    cell: ({ name, language }) => (
      <Code>
        {name}:{language}
      </Code>
    ),
  },
  {
    key: 'status',
    header: 'State at Meta',
    card: 'aside',
    cell: ({ status }) => <GroupLabel group={status === 'APPROVED' ? 'sent' : 'attend'}>{wordsOf(status)}</GroupLabel>,
  },
  {
    key: 'text',
    header: 'Text',
    wraps: true,
    card: 'text',
    cell: ({ body }) => <span style={{ whiteSpace: 'pre-wrap' }}>{body}</span>,
  },
  {
    key: 'fits',
    header: 'Where it fits',
    wraps: true,
    card: 'text',
    cell: ({ fits, why }) => (fits === null ? why : <Code>{fits}</Code>),
  },
]

/** Such as “In appeal” of IN_APPEAL. */
function wordsOf(status: string): string {
  return status.charAt(0) + status.slice(1).toLowerCase().replaceAll('_', ' ')
}

function Templates({ source }: { readonly source: Rows<ConnectionTemplateView> }) {
  return (
    <DataTable
      caption="Templates of the business account"
      columns={COLUMNS}
      source={source}
      keyOf={({ name, language }) => `${name}:${language}`}
      empty={
        <Text size="sm" c="dimmed">
          The business account has none yet. Make one in the WhatsApp Manager of Meta.
        </Text>
      }
    />
  )
}
