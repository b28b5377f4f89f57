import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { ProblemNote } from './problem-note.tsx'

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
  readonly isDanger?: boolean
}

/** Asks for confirmation, says what the action does, and shows why it failed. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { isOpen, onClose, title } = props
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <ConfirmForm {...props} />
    </Modal>
  )
}

function ConfirmForm({
  isOpen,
  onClose,
  children,
  confirmLabel,
  onConfirm,
  typeToConfirm,
  isDanger = true,
}: ConfirmDialogProps) {
  const [typed, setTyped] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Error | null>(null)
  useEffect(() => {
    if (isOpen) {
      setTyped('')
      setProblem(null)
    }
  }, [isOpen])
  const confirm = async () => {
    setBusy(true)
    setProblem(null)
    try {
      await onConfirm()
      onClose()
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)))
    } finally {
      setBusy(false)
    }
  }
  const submit = (event: { readonly preventDefault: () => void }) => {
    event.preventDefault()
    void confirm()
  }
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <div>{children}</div>
        {typeToConfirm === undefined ? null : (
          <TextInput
            label={`Type “${typeToConfirm}” to confirm`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
        )}
        {problem ? <ProblemNote problem={problem} title="This was not done" /> : null}
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
            loading={isBusy}
            disabled={typeToConfirm !== undefined && typed.trim() !== typeToConfirm}
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
