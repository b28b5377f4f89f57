import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { z } from 'zod'
import { type TokenRowReply, tokenName } from '../../../src/contract/console/tokens.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'

const shape = z.object({ name: tokenName })

interface RenameDialogProps {
  readonly token: TokenRowReply
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function RenameDialog({ token, isOpen, onClose }: RenameDialogProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={`Rename “${token.name}”`}
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <RenameForm token={token} onClose={onClose} />
    </Modal>
  )
}

function RenameForm({ token, onClose }: Omit<RenameDialogProps, 'isOpen'>) {
  const { id: account } = useAccount()
  const rename = useApiMutation('renameToken')
  const form = useFormOf(shape, { name: token.name })
  const submit = form.onSubmit((body) => {
    rename.mutateAsync({ params: { account, id: token.id }, body }).then(onClose, form.takeProblem)
  })
  return (
    <form noValidate onSubmit={submit}>
      <Stack>
        <TextInput
          label="Name of the token"
          description="The token itself stays the same."
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
        />
        {form.problem ? <ProblemNote problem={form.problem} title="The name was not changed" /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={rename.isPending}>
            Rename
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
