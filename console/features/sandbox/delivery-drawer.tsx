import { Drawer, Group, Loader, Stack, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { DeliveryTimeline } from '../../../src/contract/console/sandbox.ts'
import { bytesText } from '../../../src/format/bytes.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { TextLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { StateLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'

interface DeliveryDrawerProps {
  readonly connection: string
  readonly at: string | undefined
  readonly onClose: () => void
}

/** The details of a bubble: the payload as received, and every receipt. */
export function DeliveryDrawer({ connection, at, onClose }: DeliveryDrawerProps) {
  const { id: account } = useAccount()
  const found = useApiQuery(
    'explainDelivery',
    { params: { account, connection, key: at ?? '' } },
    { enabled: at !== undefined },
  )
  return (
    <Drawer
      opened={at !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title="Delivery"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {found.error ? <ProblemNote problem={found.error} onRetry={() => void found.refetch()} /> : null}
      {found.isPending && at !== undefined ? <Loader size="sm" aria-label="Loading" /> : null}
      {found.data ? <Timeline account={account} timeline={found.data} /> : null}
    </Drawer>
  )
}

function Timeline({ account, timeline }: { readonly account: string; readonly timeline: DeliveryTimeline }) {
  return (
    <Stack gap="md">
      <Group gap="md">
        {timeline.state === null ? null : <StateLabel state={timeline.state} />}
        <TextLink
          to="/a/$account/developer/logs/$id"
          params={{ account, id: timeline.requestId ?? timeline.messageId }}
          size="sm"
        >
          Open in the API log
        </TextLink>
      </Group>
      <Table variant="vertical" layout="fixed">
        <Table.Tbody>
          {factsOf(timeline).map(({ name, value }) => (
            <Table.Tr key={name}>
              <Table.Th w={130} scope="row">
                {name}
              </Table.Th>
              <Table.Td>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {timeline.body === null ? (
        <Text size="sm" c="dimmed">
          The request is kept no more.
        </Text>
      ) : (
        <CodeBlock code={timeline.body} language="json" label="The payload, as it came" maxHeight={360} />
      )}
    </Stack>
  )
}

interface Fact {
  readonly name: string
  readonly value: ReactNode
}

function factsOf(timeline: DeliveryTimeline): readonly Fact[] {
  const { media } = timeline
  return [
    { name: 'From', value: <MaskedNumber number={timeline.connection} /> },
    { name: 'To', value: <MaskedNumber number={timeline.to} /> },
    { name: 'Message', value: <Id id={timeline.messageId} label="Copy the message’s id" /> },
    ...moment('Accepted', timeline.acceptedAt),
    { name: 'In the inbox', value: <TimeAgo at={timeline.at} /> },
    { name: 'By attempt', value: timeline.attempt },
    ...moment('Published', timeline.publishedAt),
    ...moment('Delivered', timeline.deliveredAt),
    ...moment('Read', timeline.readAt),
    ...(media ? [{ name: 'File', value: media.name }] : []),
    ...(media?.mime ? [{ name: 'Type, by its bytes', value: media.mime }] : []),
    ...(media?.sizeBytes == null ? [] : [{ name: 'Size', value: bytesText(media.sizeBytes) }]),
    ...(media?.sha256 ? [{ name: 'SHA-256', value: <Id id={media.sha256} label="Copy the checksum" /> }] : []),
  ]
}

function moment(name: string, at: number | null): readonly Fact[] {
  return at === null ? [] : [{ name, value: <TimeAgo at={at} /> }]
}

function Id({ id, label }: { readonly id: string; readonly label: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Text span size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
        {id}
      </Text>
      <CopyButton value={id} label={label} />
    </Group>
  )
}
