import { Paper, Stack, Table, Text, Title, VisuallyHidden } from '@mantine/core'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { numberText } from './results.ts'

type Lane = OverviewReply['lanes'][number]

/** Connections with waiting messages, stopped ones first. */
export function WaitingLanes({ lanes, furtherLanes }: Pick<OverviewReply, 'lanes' | 'furtherLanes'>) {
  const { id: account } = useAccount()
  if (lanes.length === 0) return null
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="lanes">
      <Stack gap="xs">
        <Title order={2} id="lanes">
          Connections with messages that wait
        </Title>
        <Table.ScrollContainer minWidth={520}>
          <Table verticalSpacing="xs">
            <Table.Caption m={0}>
              <VisuallyHidden>Connections with messages that wait, those that stand still first</VisuallyHidden>
            </Table.Caption>
            <Table.Thead>
              <Table.Tr>
                <Table.Th scope="col">Connection</Table.Th>
                <Table.Th scope="col" ta="right">
                  Waiting
                </Table.Th>
                <Table.Th scope="col">Since</Table.Th>
                <Table.Th scope="col">Why</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {lanes.map((lane) => (
                <LaneRow key={lane.connectionId} lane={lane} account={account} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
        {furtherLanes > 0 ? (
          <TextLink to="/a/$account/connections" params={{ account }} size="sm">
            {`${numberText(furtherLanes)} more`}
          </TextLink>
        ) : null}
      </Stack>
    </Paper>
  )
}

function LaneRow({ lane, account }: { readonly lane: Lane; readonly account: string }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={400}>
        <TextLink to="/a/$account/connections/$id" params={{ account, id: lane.connectionId }} size="sm">
          {lane.number}
        </TextLink>
      </Table.Th>
      <Table.Td ta="right">
        {lane.isMore ? 'over ' : ''}
        {numberText(lane.waiting)}
      </Table.Td>
      <Table.Td>{lane.oldestAt === null ? '' : <TimeAgo at={lane.oldestAt} isQuiet />}</Table.Td>
      <Table.Td>
        {lane.reason === null ? (
          <GroupLabel group="sent">Moves</GroupLabel>
        ) : (
          <Stack gap={2} align="flex-start">
            {lane.reason === 'pace' || lane.reason === 'quiet_hours' ? (
              <GroupLabel group="moving">{lane.reason === 'pace' ? 'Paced' : 'Quiet hours'}</GroupLabel>
            ) : (
              <GroupLabel group="attend">Stands still</GroupLabel>
            )}
            <Text size="sm">
              {lane.meaning ?? lane.reason} {lane.whatToDo ?? ''}
            </Text>
          </Stack>
        )}
      </Table.Td>
    </Table.Tr>
  )
}
