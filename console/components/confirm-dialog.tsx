import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useRuledForm } from './form.ts'
import { ProblemNote } from './problem-note.tsx'
import { type ProofNeed, useProof } from './proof.tsx'

interface ConfirmDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  /** A question: "Delete the token Checkout?" */
  readonly title: string
  /** The effect in numbers: "It was used 214 times today by 2 addresses." */
  readonly children: ReactNode
  /** The label of the button, as a verb: "Delete token". */
  readonly confirmLabel: string
  /** The dialog closes when this resolves. When it rejects, the dialog stays and shows why. */
  readonly onConfirm: () => Promise<unknown>
  /** Only for actions that cannot be undone: this name must be typed. */
  readonly typeToConfirm?: string
  /** For actions whose route demands step-up. */
  readonly needsProof?: ProofNeed
  readonly isDanger?: boolean
  readonly zIndex?: number
}

/** Asks for confirmation, says what the action does, and shows why it failed. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { isOpen, onClose, title, zIndex = 200 } = props
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={title}
      centered
      zIndex={zIndex}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <ConfirmForm {...props} />
    </Modal>
  )
}

function ConfirmForm(props: ConfirmDialogProps) {
  const { onClose, children, confirmLabel, onConfirm, typeToConfirm, needsProof = 'never', isDanger = true } = props
  const form = useRuledForm(() => ({}), { name: '' })
  const proof = useProof({ need: needsProof, form, isFirst: typeToConfirm === undefined })
  const submit = form.onSubmit(async () => {
    await proof.prove()
    await onConfirm()
    onClose()
  })
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <div>{children}</div>
        {typeToConfirm === undefined ? null : (
          <TextInput
            label={`Type “${typeToConfirm}” to confirm`}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
            {...form.getInputProps('name')}
          />
        )}
        {proof.fields}
        {form.problem ? <ProblemNote problem={form.problem} title="This was not done" /> : null}
        <Group justify="flex-end">
          <Button
            variant="default"
            onClick={onClose}
            {...(typeToConfirm === undefined ? { 'data-autofocus': true } : {})}
          >
            Cancel
          </Button>
          <Button
            type="submit"
            color={isDanger ? 'red' : 'indigo'}
            loading={form.submitting}
            disabled={!proof.isReady || (typeToConfirm !== undefined && form.values.name.trim() !== typeToConfirm)}
          >
            {confirmLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** For actions that cannot be undone: the name must be typed. */
export function TypedDialog(props: ConfirmDialogProps & { readonly typeToConfirm: string }) {
  return <ConfirmDialog {...props} />
}
