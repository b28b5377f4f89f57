import { Alert, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { TypedDialog } from '../../components/confirm-dialog.tsx'
import { takenOutText } from '../../components/taken-out-text.ts'
import { showToast } from '../../components/toast.ts'
import { waitingText } from './connection-labels.ts'

interface RemoveDialogProps {
  readonly connection: ConnectionView
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Called while the removal runs, so that the page does not load a connection that is being removed. */
  readonly onBusy: (isBusy: boolean) => void
}

/** Removes a connection. Its waiting messages are cancelled in parts, after the dialog has shown how many there are. */
export function RemoveDialog({ connection, isOpen, onClose, onBusy }: RemoveDialogProps) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const remove = useApiMutation('removeConnection')
  const [done, setDone] = useState<number | null>(null)
  const { id, number, waiting } = connection
  const hasWaiting = waiting.count > 0
  const removeAll = async () => {
    const ask = { params: { account, id }, body: { cancelWaiting: hasWaiting } }
    let part = await remove.mutateAsync(ask)
    let { cancelled, unconfirmed } = part
    while (!part.isRemoved) {
      setDone(cancelled + unconfirmed)
      part = await remove.mutateAsync(ask)
      cancelled += part.cancelled
      unconfirmed += part.unconfirmed
    }
    const isAny = cancelled + unconfirmed > 0
    showToast(`Removed ${number}. ${isAny ? takenOutText({ cancelled, unconfirmed }) : 'Nothing waited on it.'}`)
    await navigate({ to: '/a/$account/connections', params: { account } })
  }
  const confirm = async () => {
    onBusy(true)
    try {
      await removeAll()
    } catch (error) {
      onBusy(false)
      setDone(null)
      throw error
    }
  }
  return (
    <TypedDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Remove ${number}?`}
      confirmLabel={hasWaiting ? 'Cancel what waits and remove' : 'Remove connection'}
      needsProof="if-due"
      typeToConfirm={number}
      onConfirm={confirm}
    >
      {hasWaiting ? (
        <Alert color="red" variant="light" icon={<TriangleAlert aria-hidden />} title={`${waitingText(waiting)} on it`}>
          They are cancelled with it, but for one that is being handed over right now: that is brought to its end. One
          whose earlier attempt may have arrived becomes unconfirmed.
        </Alert>
      ) : (
        <Text size="sm">Nothing waits on it.</Text>
      )}
      <Text size="sm" mt="sm">
        Requests that name {number} as `from` are refused from now on. Its messages stay in the API logs, and the number
        can be added again as a new connection.
      </Text>
      {connection.phone?.isLinked ? (
        <Text size="sm" mt="sm">
          This device disappears from the phone’s list of linked devices once a worker has logged it out. If it stays
          there while Nuncio runs, log it out on the phone.
        </Text>
      ) : null}
      <Text size="sm" mt="sm" mih={22} role="status">
        {done === null ? '' : `${done.toLocaleString('en')} taken out so far. Keep this page open.`}
      </Text>
    </TypedDialog>
  )
}
