import { Box, Tabs, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { Plus } from 'lucide-react'
import { z } from 'zod'
import type { ConnectionRow } from '../../../src/contract/console/connections.ts'
import { useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ButtonLink, RowLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { countText, paceText } from './connection-labels.ts'
import { LaneBadge } from './lane-badge.tsx'
import { UnresolvedList } from './unresolved-list.tsx'

const FIND_AFTER_MS = 250

const search = z.object({
  tab: z.enum(['all', 'unconfirmed']).catch('all'),
  /** The first digits of a number. */
  find: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .catch(undefined),
})

export function Connections() {
  const account = useAccount()
  const [{ tab }, change] = useSearchState(search)
  return (
    <Page
      title="Connections"
      about="The numbers that messages are sent from. Each has a lane of its own: messages go out one by one, to each recipient in the order in which they were accepted."
      actions={account.can('developer') ? <AddLink /> : null}
    >
      <Tabs
        value={tab}
        onChange={(next) => change({ tab: next === 'all' ? undefined : next }, { isStep: true })}
        keepMounted={false}
      >
        <Tabs.List aria-label="Lists">
          <Tabs.Tab value="all">Connections</Tabs.Tab>
          <Tabs.Tab value="unconfirmed">Unconfirmed messages</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="all" pt="md">
          <ConnectionList />
        </Tabs.Panel>
        <Tabs.Panel value="unconfirmed" pt="md">
          <UnresolvedList />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}

function AddLink() {
  const { id } = useAccount()
  return (
    <ButtonLink to="/a/$account/connections/new" params={{ account: id }} leftSection={<Plus size={16} aria-hidden />}>
      Add connection
    </ButtonLink>
  )
}

function ConnectionList() {
  const { id: account } = useAccount()
  const [{ find }, change] = useSearchState(search)
  const source = useApiPages('listConnections', (after) => ({
    params: { account },
    query: { ...(find === undefined ? {} : { find }), ...(after === undefined ? {} : { after }) },
  }))
  return (
    <>
      <Box mb="sm" maw={320} data-filters>
        <FindField key={find === undefined ? 'none' : 'some'} />
      </Box>
      <DataTable
        caption="Connections by number"
        columns={columnsOf(account)}
        source={source}
        keyOf={(row) => row.id}
        moreLabel="Load more"
        empty={
          find === undefined ? (
            <NoConnection />
          ) : (
            <EmptyState
              kind="no-match"
              text={`No number of this account begins with ${find}.`}
              onClear={() => change({ find: undefined })}
            />
          )
        }
      />
    </>
  )
}

function FindField() {
  const [{ find }, change] = useSearchState(search)
  const changeLater = useDebouncedCallback((digits: string) => change({ find: digits || undefined }), FIND_AFTER_MS)
  return (
    <TextInput
      label="Number begins with"
      inputMode="numeric"
      defaultValue={find ?? ''}
      autoComplete="off"
      onChange={(event) => changeLater(event.currentTarget.value.replaceAll(/\D/g, '').slice(0, 15))}
    />
  )
}

function columnsOf(account: string): readonly Column<ConnectionRow>[] {
  return [
    {
      key: 'number',
      header: 'Number',
      cell: (row) => (
        <RowLink to="/a/$account/connections/$id" params={{ account, id: row.id }}>
          {row.number}
        </RowLink>
      ),
    },
    { key: 'channel', header: 'Channel', hideBelow: 1200, cell: (row) => row.channel },
    { key: 'state', header: 'State', width: 120, card: 'aside', cell: (row) => <LaneBadge connection={row} /> },
    {
      key: 'waiting',
      header: 'Waiting',
      align: 'right',
      cell: ({ waiting }) => (waiting.count === 0 ? '–' : countText(waiting)),
    },
    {
      key: 'oldest',
      header: 'Oldest since',
      hideBelow: 1200,
      cell: ({ oldestWaitingAt }) => (oldestWaitingAt === null ? '–' : <TimeAgo at={oldestWaitingAt} isQuiet />),
    },
    {
      key: 'pace',
      header: 'Pace',
      hideBelow: 1200,
      cell: ({ pace }) => (pace.publishedInLastMinute.count === 0 && pace.perMessageMs === null ? '–' : paceText(pace)),
    },
    {
      key: 'last',
      header: 'Last sent',
      cell: ({ pace }) => (pace.lastPublishedAt === null ? '–' : <TimeAgo at={pace.lastPublishedAt} isQuiet />),
    },
    {
      key: 'why',
      header: 'Waits because',
      wraps: true,
      card: 'text',
      cell: (row) => row.wait?.list ?? (row.waiting.count === 0 ? '' : '–'),
    },
  ]
}

function NoConnection() {
  const account = useAccount()
  return (
    <EmptyState
      kind="nothing-yet"
      title="No connection yet"
      text="A connection is a number that messages are sent from. A sandbox connection needs nothing: what is sent from it lands in an inbox on this server."
      action={account.can('developer') ? <AddLink /> : null}
    />
  )
}
