import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMounted } from '@mantine/hooks'
import { z } from 'zod'
import { phoneNumber } from '../../../src/contract/console/phone-number.ts'
import { blockReason } from '../../../src/contract/console/recipients.ts'
import { plainNumber } from '../../../src/contract/field-rules.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'

const shape = z.object({ number: phoneNumber, reason: blockReason })

interface BlockDialogProps {
  /** The initial value of the field. */
  readonly number?: string
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function BlockDialog({ number = '', isOpen, onClose }: BlockDialogProps) {
  // A dialog that is open from the start does not know to what it gives the focus back.
  const isMounted = useMounted()
  return (
    <Modal
      opened={isOpen && isMounted}
      onClose={onClose}
      title="Block a recipient"
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <BlockForm number={number} onClose={onClose} />
    </Modal>
  )
}

function BlockForm({ number, onClose }: { readonly number: string; readonly onClose: () => void }) {
  const { id: account } = useAccount()
  const block = useApiMutation('blockRecipient')
  const form = useFormOf(shape, { number, reason: '' })
  const submit = form.onSubmit((body) => {
    block.mutateAsync({ params: { account }, body }).then(({ isNew }) => {
      const blocked = plainNumber(body.number)
      showToast(isNew ? `Blocked ${blocked}. Messages to it will not be sent.` : `${blocked} was blocked already.`)
      onClose()
    }, form.takeProblem)
  })
  return (
    <form noValidate onSubmit={submit}>
      <Stack>
        <TextInput
          label="Number"
          description="With the country code. New messages to it are accepted, but fail; those that wait fail, too."
          inputMode="tel"
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('number')}
        />
        <TextInput
          label="Why"
          description="For people who read the list later. Optional."
          autoComplete="off"
          {...form.getInputProps('reason')}
        />
        {form.problem ? <ProblemNote problem={form.problem} title="The number was not blocked" /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red" loading={block.isPending}>
            Block
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
