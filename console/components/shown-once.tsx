import { Alert, Button, Group, Modal, Stack } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'

interface ShownOnceProps {
  readonly title: string
  /** Such as "token". */
  readonly what: string
  /** What a person must do who leaves without it. */
  readonly without: string
  readonly onClose: () => void
  readonly children: (how: { readonly onTaken: () => void; readonly close: () => void }) => ReactNode
}

/** What is shown only once. To leave without having copied it needs a confirmation. */
export function ShownOnce({ title, what, without, onClose, children }: ShownOnceProps) {
  const [isTaken, setTaken] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [isLeaving, setLeaving] = useState(false)
  const mayGo = isTaken || isLeaving
  useBlocker({
    shouldBlockFn: () => {
      if (!mayGo) setAsking(true)
      return !mayGo
    },
    enableBeforeUnload: () => !mayGo,
  })
  const close = () => (isTaken ? onClose() : setAsking(true))
  const leave = () => {
    setLeaving(true)
    // In the next turn, when navigation is no longer blocked.
    setTimeout(onClose)
  }
  return (
    <Modal
      opened
      onClose={close}
      title={title}
      size="xl"
      centered
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {isAsking && !isTaken ? (
        <Stack>
          <Alert
            color="yellow"
            variant="light"
            icon={<TriangleAlert aria-hidden />}
            title={`You have not copied the ${what}`}
            role="alert"
          >
            It cannot be shown again. {without}
          </Alert>
          <Group justify="flex-end">
            <Button variant="default" onClick={leave}>
              Close without the {what}
            </Button>
            <Button onClick={() => setAsking(false)} data-autofocus>
              Back to the {what}
            </Button>
          </Group>
        </Stack>
      ) : (
        children({ onTaken: () => setTaken(true), close })
      )}
    </Modal>
  )
}
