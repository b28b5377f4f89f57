import { Button, Group, Modal, TextInput } from '@mantine/core'
import { useMounted } from '@mantine/hooks'
import { type SubmitEvent, useState } from 'react'

interface SaveViewDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onName: (name: string) => void
}

export function SaveViewDialog({ isOpen, onClose, onName }: SaveViewDialogProps) {
  // A dialog that is open from the start does not know to what it gives the focus back.
  const isMounted = useMounted()
  return (
    <Modal
      opened={isOpen && isMounted}
      onClose={onClose}
      title="Save these filters"
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <NameForm onName={onName} />
    </Modal>
  )
}

function NameForm({ onName }: Pick<SaveViewDialogProps, 'onName'>) {
  const [name, setName] = useState('')
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (name.trim() !== '') onName(name.trim())
  }
  return (
    <form onSubmit={submit} noValidate>
      <TextInput
        label="Name"
        description="Kept in this browser. To show it to others, copy the link to the list."
        data-autofocus
        maxLength={40}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Group justify="flex-end" mt="md">
        <Button type="submit" disabled={name.trim() === ''}>
          Save
        </Button>
      </Group>
    </form>
  )
}
