import { Button, Group, Stack, Text } from '@mantine/core'
import type { ReplyFor } from '../../api/call.ts'
import { rowsOf, useApiMutation, useApiQuery } from '../../api/queries.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { browserName } from './browser-name.ts'

type Session = ReplyFor<'listSessions'>['items'][number]

/** The sessions of this person. */
export function OwnSessions() {
  const sessions = useApiQuery('listSessions', {})
  const end = useApiMutation('endSession')
  const endOthers = useApiMutation('endOtherSessions')
  const columns: readonly Column<Session>[] = [
    {
      key: 'browser',
      header: 'Browser',
      cell: ({ userAgent, isThis }) => (
        <Group gap="xs">
          <Text size="sm">{browserName(userAgent)}</Text>
          {isThis ? <GroupLabel group="sent">this one</GroupLabel> : null}
        </Group>
      ),
    },
    { key: 'address', header: 'Address', cell: ({ remoteAddress }) => remoteAddress ?? 'unknown' },
    { key: 'proof', header: 'Signed in by', hideBelow: 1200, cell: ({ proof }) => proof },
    { key: 'started', header: 'Since', hideBelow: 1200, cell: ({ startedAt }) => <TimeAgo at={startedAt} /> },
    { key: 'used', header: 'Last used', cell: ({ lastUsedAt }) => <TimeAgo at={lastUsedAt} isQuiet /> },
    { key: 'ends', header: 'Ends', hideBelow: 1200, cell: ({ endsAt }) => <TimeAgo at={endsAt} isQuiet /> },
    {
      key: 'end',
      header: 'End',
      card: 'aside',
      align: 'right',
      cell: ({ id, isThis, userAgent }) =>
        isThis ? null : (
          <Button
            variant="subtle"
            color="red"
            size="compact-sm"
            aria-label={`End the session in ${browserName(userAgent)}`}
            onClick={() => end.mutate({ params: { id } }, { onSuccess: () => showToast('Session ended') })}
          >
            End
          </Button>
        ),
    },
  ]
  const others = sessions.data?.items.filter(({ isThis }) => !isThis).length ?? 0
  return (
    <Stack gap="sm" align="stretch">
      <DataTable
        caption="Your sessions"
        columns={columns}
        source={rowsOf(sessions, ({ items }) => items)}
        keyOf={({ id }) => id}
        empty={null}
      />
      {(end.error ?? endOthers.error) ? (
        <ProblemNote problem={(end.error ?? endOthers.error) as Error} title="The session was not ended" />
      ) : null}
      {others > 0 ? (
        <Group>
          <Button
            variant="default"
            loading={endOthers.isPending}
            onClick={() => endOthers.mutate({}, { onSuccess: ({ ended }) => showToast(`${ended} sessions ended`) })}
          >
            End all others
          </Button>
        </Group>
      ) : null}
    </Stack>
  )
}
