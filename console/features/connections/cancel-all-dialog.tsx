import { Text } from '@mantine/core'
import { useState } from 'react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { takenOutText } from '../../components/taken-out-text.ts'
import { showToast } from '../../components/toast.ts'
import { messages } from './connection-labels.ts'
import { useCancelWaiting } from './use-cancel-waiting.ts'

interface CancelAllDialogProps {
  readonly connection: ConnectionView
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** Cancels all waiting messages in parts, and shows the progress. */
export function CancelAllDialog({ connection, isOpen, onClose }: CancelAllDialogProps) {
  const [done, setDone] = useState<number | null>(null)
  const { id, number, waiting } = connection
  const cancel = useCancelWaiting(id)
  const confirm = async () => {
    const taken = await cancel({ olderThanMs: null, onPart: setDone })
    setDone(null)
    showToast(`${number}: ${takenOutText(taken)}`)
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Cancel all that waits on ${number}?`}
      confirmLabel="Cancel all"
      onConfirm={confirm}
    >
      <Text size="sm">
        {messages(waiting)} will not be sent, but for one that is being handed over right now: that is brought to its
        end. What is accepted from now on stays. One whose earlier attempt may have arrived becomes unconfirmed. You can
        retry single ones from the API logs.
      </Text>
      <Text size="sm" mt="sm" mih={22} role="status">
        {done === null ? '' : `${done.toLocaleString('en')} taken out so far. Keep this page open.`}
      </Text>
    </ConfirmDialog>
  )
}
