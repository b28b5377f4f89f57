import { Button, Code, Group, Table, Text } from '@mantine/core'
import { useState } from 'react'
import type { ConnectionTemplateView, ConnectionView } from '../../../src/contract/console/connections.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
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
        those that fit in the settings of the channel below.
      </Text>
      {asked.error ? (
        <ProblemNote
          problem={asked.error}
          title="The templates could not be listed"
          onRetry={() => void asked.refetch()}
        />
      ) : asked.data ? (
        <Templates templates={asked.data.templates} />
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

function Templates({ templates }: { readonly templates: readonly ConnectionTemplateView[] }) {
  if (templates.length === 0)
    return (
      <Text size="sm" c="dimmed">
        The business account has none yet. Make one in the WhatsApp Manager of Meta.
      </Text>
    )
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Name and language</Table.Th>
            <Table.Th scope="col">Status</Table.Th>
            <Table.Th scope="col">Text</Table.Th>
            <Table.Th scope="col">Where it fits</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {templates.map((template) => (
            <Table.Tr key={`${template.name}:${template.language}`}>
              <Table.Td>
                <Code>
                  {template.name}:{template.language}
                </Code>
              </Table.Td>
              <Table.Td>
                <GroupLabel group={template.status === 'APPROVED' ? 'sent' : 'attend'}>{template.status}</GroupLabel>
              </Table.Td>
              <Table.Td style={{ whiteSpace: 'pre-wrap' }}>{template.body}</Table.Td>
              <Table.Td>{template.fits === null ? template.why : <Code>{template.fits}</Code>}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
