import { Button, Text } from '@mantine/core'
import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import type { Role } from '../../../src/contract/console/route.ts'
import type { ReplyFor } from '../../api/call.ts'
import { rowsOf, useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { RoleField } from './role-field.tsx'

type Member = ReplyFor<'listMembers'>['members'][number]

/** The members of the account. */
export function People() {
  const { id } = useAccount()
  const people = useApiQuery('listMembers', { params: { account: id } })
  const [isInviting, setInviting] = useState(false)
  const [removed, setRemoved] = useState<Member | null>(null)
  const changeRole = useApiMutation('changeRole')
  const change = (member: Member, role: Role) =>
    changeRole.mutate(
      { params: { account: id, id: member.personId }, body: { role } },
      { onSuccess: () => showToast(`${member.name} is ${role} now`) },
    )
  const remove = useApiMutation('removeMember')
  return (
    <Page
      title="People"
      about="Viewers see everything, with texts and numbers masked. Developers also make tokens and act on connections and messages. Owners also decide who belongs here."
      actions={
        <Button leftSection={<UserPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      {changeRole.error ? <ProblemNote problem={changeRole.error} title="The role was not changed" /> : null}
      <DataTable
        caption="People of this account"
        columns={columnsOf({ change, remove: setRemoved })}
        source={rowsOf(people, ({ members }) => members)}
        keyOf={({ personId }) => personId}
        empty={null}
      />
      {people.data ? <Invitations account={id} invitations={people.data.invitations} /> : null}
      <InviteDialog account={id} isOpen={isInviting} onClose={() => setInviting(false)} />
      <ConfirmDialog
        isOpen={removed !== null}
        onClose={() => setRemoved(null)}
        title={`Remove ${removed?.name ?? ''}?`}
        confirmLabel="Remove"
        needsProof="if-due"
        onConfirm={() => remove.mutateAsync({ params: { account: id, id: removed?.personId ?? '' } })}
      >
        <Text size="sm">
          {removed?.email} loses access to this account at once, and their open invitations stop working. Tokens they
          made keep working: check them.
        </Text>
      </ConfirmDialog>
    </Page>
  )
}

interface MemberActs {
  readonly change: (member: Member, role: Role) => void
  readonly remove: (member: Member) => void
}

function columnsOf({ change, remove }: MemberActs): readonly Column<Member>[] {
  return [
    {
      key: 'name',
      header: 'Name',
      cell: ({ name, email }) => (
        <>
          <Text span size="sm" fw={500}>
            {name}
          </Text>{' '}
          <Text span size="sm" c="dimmed">
            {email}
          </Text>
        </>
      ),
    },
    {
      key: 'role',
      header: 'Role',
      cell: (member) => (
        <RoleField
          label={`Role of ${member.name}`}
          isLabelHidden
          value={member.role}
          onChange={(role) => change(member, role)}
        />
      ),
    },
    {
      key: 'factor',
      header: 'Second factor',
      cell: ({ hasSecondFactor }) => (
        <GroupLabel group={hasSecondFactor ? 'sent' : 'closed'}>{hasSecondFactor ? 'on' : 'none'}</GroupLabel>
      ),
    },
    {
      key: 'joined',
      header: 'Joined',
      hideBelow: 1200,
      card: 'hidden',
      cell: ({ joinedAt }) => <TimeAgo at={joinedAt} />,
    },
    {
      key: 'last',
      header: 'Last sign-in',
      cell: ({ lastSignInAt }) => (lastSignInAt === null ? 'never' : <TimeAgo at={lastSignInAt} isQuiet />),
    },
    {
      key: 'remove',
      header: 'Remove',
      card: 'aside',
      align: 'right',
      cell: (member) => (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          aria-label={`Remove ${member.name}`}
          onClick={() => remove(member)}
        >
          Remove
        </Button>
      ),
    },
  ]
}
