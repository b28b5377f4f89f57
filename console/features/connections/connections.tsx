import { Group, Kbd, SegmentedControl, Tabs, Text, TextInput } from '@mantine/core'
import { Plus, Search } from 'lucide-react'
import { z } from 'zod'
import { type ConnectionRow, connectionRoutes } from '../../../src/contract/console/connections.ts'
import type { ReplyFor } from '../../api/call.ts'
import { useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ButtonLink, RowLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useTypedSearch } from '../../components/typed-search.ts'
import classes from './connection.module.css'
import { countText, listFilters, noMatchText, soughtOf } from './connection-labels.ts'
import { LaneBadge } from './lane-badge.tsx'
import { UnresolvedList } from './unresolved-list.tsx'
import { useSentToday } from './use-sent-today.ts'

const search = z.object({
  tab: z.enum(['all', 'unconfirmed']).catch('all'),
  group: connectionRoutes.listConnections.query.shape.group.catch(undefined),
  /** The first digits of a number, or a part of a name. */
  find: connectionRoutes.listConnections.query.shape.find.catch(undefined),
})

export function Connections() {
  const account = useAccount()
  const [{ tab }, change] = useSearchState(search)
  return (
    <Page
      title="Connections"
      about="Each number sends one message at a time, to each recipient in the order of acceptance."
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
  const [{ find, group }, change] = useSearchState(search)
  const source = useApiPages('listConnections', (after) => ({
    params: { account },
    query: {
      ...(find === undefined ? {} : { find }),
      ...(group === undefined ? {} : { group }),
      ...(after === undefined ? {} : { after }),
    },
  }))
  const isFiltered = find !== undefined || group !== undefined
  const sentToday = useSentToday(source.rows.map(({ id }) => id))
  return (
    <>
      <Group gap="xs" mb="sm">
        <GroupFilter group={group} counts={source.pages[0]?.counts} />
        <FindField />
      </Group>
      <DataTable
        caption="Connections: those that need a person first"
        columns={columnsOf(account, sentToday)}
        source={source}
        keyOf={(row) => row.id}
        moreLabel="Load more"
        empty={
          isFiltered ? (
            <EmptyState
              kind="no-match"
              text={noMatchText(group, find)}
              onClear={() => change({ find: undefined, group: undefined })}
            />
          ) : (
            <NoConnection />
          )
        }
      />
    </>
  )
}

interface GroupFilterProps {
  readonly group: z.output<typeof search>['group']
  readonly counts: ReplyFor<'listConnections'>['counts'] | undefined
}

function GroupFilter({ group, counts }: GroupFilterProps) {
  const [, change] = useSearchState(search)
  return (
    <SegmentedControl
      aria-label="Which connections"
      size="xs"
      className={classes['filter'] ?? ''}
      value={group ?? 'all'}
      onChange={(next) => change({ group: next === 'all' ? undefined : next }, { isStep: true })}
      data={listFilters(counts).map(({ value, label, count }) => ({
        value,
        label: (
          <>
            {label}
            {count === undefined ? null : <span className={classes['count']}>{count.toLocaleString('en')}</span>}
          </>
        ),
      }))}
    />
  )
}

function FindField() {
  const [{ find }, change] = useSearchState(search)
  const [words, type] = useTypedSearch({ find, onFind: (sought) => change({ find: sought }), read: soughtOf })
  return (
    <div className={classes['find']} data-filters>
      <TextInput
        aria-label="Number or name"
        placeholder="Number or name"
        type="search"
        maxLength={60}
        value={words}
        autoComplete="off"
        leftSection={<Search size={16} aria-hidden />}
        rightSection={<Kbd size="xs">/</Kbd>}
        onChange={(event) => type(event.currentTarget.value)}
      />
    </div>
  )
}

function columnsOf(account: string, sentToday: ReturnType<typeof useSentToday>): readonly Column<ConnectionRow>[] {
  return [
    {
      key: 'number',
      header: 'Number, name',
      wraps: true,
      cell: ({ id, number, name }) => (
        <Group component="span" display="inline-flex" gap="0 var(--mantine-spacing-xs)">
          <RowLink to="/a/$account/connections/$id" params={{ account, id }}>
            {number}
          </RowLink>
          {name === null ? null : (
            <Text span size="sm" c="dimmed">
              {name}
            </Text>
          )}
        </Group>
      ),
    },
    { key: 'channel', header: 'Channel', hideBelow: 1200, card: 'hidden', cell: (row) => row.channelLabel },
    {
      key: 'state',
      header: 'State',
      wraps: true,
      // What is ready takes one line.
      card: ({ group }) => (group === 'ready' ? 'aside' : 'text'),
      cell: (row) => <LaneBadge connection={row} />,
    },
    {
      key: 'waiting',
      header: 'Waiting',
      align: 'right',
      cell: ({ waiting }) => (waiting.count === 0 ? null : countText(waiting)),
    },
    {
      key: 'oldest',
      header: 'Oldest since',
      hideBelow: 1200,
      card: 'hidden',
      cell: ({ oldestWaitingAt }) => (oldestWaitingAt === null ? null : <TimeAgo at={oldestWaitingAt} isQuiet />),
    },
    {
      key: 'done',
      header: 'All sent about',
      hideBelow: 1200,
      card: 'hidden',
      cell: ({ doneAt }) => (doneAt === null ? null : <TimeAgo at={doneAt} isQuiet isClock="estimate" />),
    },
    {
      key: 'today',
      header: <span title="Of the messages accepted today">Sent today</span>,
      align: 'right',
      hideBelow: 1200,
      card: 'hidden',
      cell: ({ id }) => {
        const today = sentToday(id)
        return today === null ? '–' : today?.sent.toLocaleString('en')
      },
    },
    {
      key: 'last',
      header: 'Last sent',
      align: 'right',
      card: 'hidden',
      cell: ({ pace }) => (pace.lastPublishedAt === null ? null : <TimeAgo at={pace.lastPublishedAt} isQuiet />),
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
