import { Button, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { peopleRoutes } from '../../../src/contract/console/people.ts'
import type { ReplyFor } from '../../api/call.ts'
import { useApiMutation } from '../../api/queries.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { useProof } from '../../components/proof.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { RoleField } from './role-field.tsx'

interface InviteDialogProps {
  readonly account: string
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function InviteDialog({ isOpen, onClose, account }: InviteDialogProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Invite a person"
      centered
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {isOpen ? <Invite account={account} onClose={onClose} /> : null}
    </Modal>
  )
}

function Invite({ account, onClose }: Omit<InviteDialogProps, 'isOpen'>) {
  const [made, setMade] = useState<ReplyFor<'invitePerson'> | null>(null)
  const form = useFormOf(peopleRoutes.invitePerson.body, { email: '', role: 'developer' })
  const invite = useApiMutation('invitePerson')
  const proof = useProof({ need: 'if-due', form })
  const submit = form.onSubmit(async (body) => {
    await proof.prove()
    setMade(await invite.mutateAsync({ params: { account }, body }))
  })
  if (made)
    return (
      <Stack gap="sm">
        <Text size="sm" component="div">
          Send this link to {form.getValues().email} yourself: no mail is sent. It is shown only now, works once, and
          ends <TimeAgo at={made.expiresAt} />.
        </Text>
        <CodeBlock code={made.url} label="Invitation" />
        <Button onClick={onClose}>Done</Button>
      </Stack>
    )
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <TextInput label="E-mail" type="email" autoComplete="off" data-autofocus {...form.getInputProps('email')} />
        <RoleField label="Role" value={form.getValues().role} onChange={(role) => form.setFieldValue('role', role)} />
        {proof.fields}
        {form.problem ? <ProblemNote problem={form.problem} title="The invitation was not made" /> : null}
        <Button type="submit" loading={form.submitting} disabled={!proof.isReady}>
          Make a link
        </Button>
      </Stack>
    </form>
  )
}
