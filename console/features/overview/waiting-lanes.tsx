import { Stack, Text, Title } from '@mantine/core'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import type { Rows } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { GoesOn } from '../../components/goes-on.tsx'
import { RowLink, TextLink } from '../../components/links.tsx'
import { displayOfWait } from '../../components/state-display.ts'
import { DisplayLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { numberText } from './results.ts'

type Lane = OverviewReply['lanes'][number]

interface WaitingLanesProps {
  readonly source: Rows<Lane>
  readonly furtherLanes: number
}

/** Connections with waiting messages, stopped ones first. */
export function WaitingLanes({ source, furtherLanes }: WaitingLanesProps) {
  const { id: account } = useAccount()
  return (
    <Stack gap="xs" component="section" aria-labelledby="lanes">
      <Title order={2} id="lanes">
        Connections with messages that wait
      </Title>
      <DataTable
        caption="Connections with messages that wait, those that stand still first"
        columns={columnsOf(account)}
        source={source}
        keyOf={({ connectionId }) => connectionId}
        empty={null}
        {...(furtherLanes > 0
          ? {
              note: (
                <TextLink to="/a/$account/connections" params={{ account }} size="sm">
                  {`${numberText(furtherLanes)} more`}
                </TextLink>
              ),
            }
          : {})}
      />
    </Stack>
  )
}

function columnsOf(account: string): readonly Column<Lane>[] {
  return [
    {
      key: 'number',
      header: 'Number, name',
      wraps: true,
      cell: ({ connectionId, number, name }) => (
        <>
          <RowLink to="/a/$account/connections/$id" params={{ account, id: connectionId }}>
            {number}
          </RowLink>{' '}
          <Text span size="sm" c="dimmed">
            {name}
          </Text>
        </>
      ),
    },
    { key: 'why', header: 'State', wraps: true, card: 'text', cell: (lane) => <Why lane={lane} /> },
    {
      key: 'waiting',
      header: 'Waiting',
      align: 'right',
      cell: ({ isMore, waiting }) => `${isMore ? 'over ' : ''}${numberText(waiting)}`,
    },
    {
      key: 'oldest',
      header: 'Oldest since',
      cell: ({ oldestAt }) => (oldestAt === null ? null : <TimeAgo at={oldestAt} isQuiet />),
    },
  ]
}

const SHORT: Readonly<Record<string, string>> = { pace: 'Paced', quiet_hours: 'Quiet hours', paused: 'Paused' }

function Why({ lane: { reason, meaning, whatToDo, until } }: { readonly lane: Lane }) {
  const display = displayOfWait(reason === null ? null : { code: reason, list: SHORT[reason] ?? '' })
  if (reason === null) return <DisplayLabel display={display} />
  const isOwnSetting = reason === 'pace' || reason === 'quiet_hours'
  return (
    <>
      <DisplayLabel display={{ ...display, word: display.word || 'Stands still' }} />{' '}
      <Text span size="sm" c="dimmed">
        {meaning ?? reason} {isOwnSetting ? '' : whatToDo}
      </Text>
      {until === null ? null : <GoesOn until={until} code={reason} />}
    </>
  )
}
