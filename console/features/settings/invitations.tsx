import { Button, Stack, Title } from '@mantine/core'
import { nameActor } from '../../../src/format/name-actor.ts'
import type { ReplyFor } from '../../api/call.ts'
import { type Rows, useApiMutation } from '../../api/queries.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'

type Invitation = ReplyFor<'listMembers'>['invitations'][number]

interface InvitationsProps {
  readonly account: string
  readonly invitations: readonly Invitation[]
}

/** Open invitations. */
export function Invitations({ account, invitations }: InvitationsProps) {
  const withdraw = useApiMutation('withdrawInvitation')
  if (invitations.length === 0) return null
  const columns: readonly Column<Invitation>[] = [
    { key: 'email', header: 'E-mail', cell: ({ email }) => email },
    { key: 'role', header: 'Role', cell: ({ role }) => role },
    { key: 'by', header: 'Invited by', cell: ({ createdBy }) => nameActor(createdBy) },
    {
      key: 'made',
      header: 'Invited',
      hideBelow: 1200,
      card: 'hidden',
      cell: ({ createdAt }) => <TimeAgo at={createdAt} isQuiet />,
    },
    { key: 'ends', header: 'Link ends', cell: ({ expiresAt }) => <TimeAgo at={expiresAt} /> },
    {
      key: 'withdraw',
      header: 'Withdraw',
      card: 'aside',
      align: 'right',
      cell: ({ id, email }) => (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          aria-label={`Withdraw the invitation of ${email}`}
          onClick={() =>
            withdraw.mutate({ params: { account, id } }, { onSuccess: () => showToast('Invitation withdrawn') })
          }
        >
          Withdraw
        </Button>
      ),
    },
  ]
  return (
    <Stack gap="sm">
      <Title order={2}>Invitations</Title>
      {withdraw.error ? <ProblemNote problem={withdraw.error} title="The invitation was not withdrawn" /> : null}
      <DataTable
        caption="Invitations"
        columns={columns}
        source={allOf(invitations)}
        keyOf={({ id }) => id}
        empty={null}
      />
    </Stack>
  )
}

/** The list of open invitations. */
function allOf<Row>(rows: readonly Row[]): Rows<Row> {
  return {
    rows,
    isLoading: false,
    problem: null,
    retry: () => {},
    hasOlder: false,
    loadOlder: () => {},
    isLoadingOlder: false,
    isResting: false,
    backToNewest: () => {},
  }
}
