import { Drawer, Group, Loader, Stack, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { DeliveryStory } from '../../../src/contract/console/sandbox.ts'
import { useAsk } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { TextLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { sizeText } from './sandbox-labels.ts'

interface DeliveryDrawerProps {
  readonly connection: string
  readonly at: string | undefined
  readonly onClose: () => void
}

/** What is behind a bubble: the payload as it came, and every receipt. */
export function DeliveryDrawer({ connection, at, onClose }: DeliveryDrawerProps) {
  const { id: account } = useAccount()
  const found = useAsk(
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
      {found.data ? <Story account={account} story={found.data} /> : null}
    </Drawer>
  )
}

function Story({ account, story }: { readonly account: string; readonly story: DeliveryStory }) {
  return (
    <Stack gap="md">
      <Group gap="md">
        {story.state === null ? null : <StateBadge state={story.state} />}
        <TextLink
          to="/a/$account/developer/logs/$id"
          params={{ account, id: story.requestId ?? story.messageId }}
          size="sm"
        >
          Open in the API log
        </TextLink>
      </Group>
      <Table variant="vertical" layout="fixed">
        <Table.Tbody>
          {factsOf(story).map(({ name, value }) => (
            <Table.Tr key={name}>
              <Table.Th w={130} scope="row">
                {name}
              </Table.Th>
              <Table.Td>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {story.body === null ? (
        <Text size="sm" c="dimmed">
          The request is kept no more.
        </Text>
      ) : (
        <CodeBlock code={story.body} language="json" label="The payload, as it came" maxHeight={360} />
      )}
    </Stack>
  )
}

interface Fact {
  readonly name: string
  readonly value: ReactNode
}

function factsOf(story: DeliveryStory): readonly Fact[] {
  const { media } = story
  return [
    { name: 'From', value: <MaskedNumber number={story.connection} /> },
    { name: 'To', value: <MaskedNumber number={story.to} /> },
    { name: 'Message', value: <Id id={story.messageId} label="Copy the message’s id" /> },
    ...moment('Accepted', story.acceptedAt),
    { name: 'In the inbox', value: <TimeAgo at={story.at} /> },
    { name: 'By attempt', value: story.attempt },
    ...moment('Published', story.publishedAt),
    ...moment('Delivered', story.deliveredAt),
    ...moment('Read', story.readAt),
    ...(media ? [{ name: 'File', value: media.name }] : []),
    ...(media?.mime ? [{ name: 'Type, by its bytes', value: media.mime }] : []),
    ...(media?.sizeBytes == null ? [] : [{ name: 'Size', value: sizeText(media.sizeBytes) }]),
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
