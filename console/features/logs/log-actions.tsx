import { Button, Group, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { LogDetail } from '../../../src/contract/console/log.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { cancelledText } from '../../components/cancelled-text.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { showToast } from '../../components/toast.ts'

type Message = NonNullable<LogDetail['message']>

interface Asking {
  readonly title: string
  readonly text: ReactNode
  readonly confirmLabel: string
  readonly isDanger: boolean
  readonly act: () => Promise<unknown>
}

/** The possible actions on a message, but for a decision about one that is unconfirmed. Each explains its effect first. */
export function LogActions({ message, detail }: { readonly message: Message; readonly detail: LogDetail }) {
  const [asking, setAsking] = useState<Asking | null>(null)
  const [isOpen, setOpen] = useState(false)
  const actions = useActions(message, detail)
  const ask = (what: Asking) => {
    setAsking(what)
    setOpen(true)
  }
  if (actions.length === 0) return null
  return (
    <Group gap="xs">
      {actions.map(({ label, asking: what }) => (
        <Button key={label} variant="default" onClick={() => ask(what)}>
          {label}
        </Button>
      ))}
      {asking === null ? null : (
        <ConfirmDialog
          isOpen={isOpen}
          onClose={() => setOpen(false)}
          title={asking.title}
          confirmLabel={asking.confirmLabel}
          onConfirm={asking.act}
          isDanger={asking.isDanger}
        >
          <Text size="sm">{asking.text}</Text>
        </ConfirmDialog>
      )}
    </Group>
  )
}

function useActions(
  { id, actions, connection }: Message,
  { entry, timeline }: LogDetail,
): readonly { label: string; asking: Asking }[] {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const cancel = useApiMutation('cancelMessage')
  const retry = useApiMutation('retryMessage')
  const unblocking = useUnblocking(entry.to ?? '')
  const params = { account, id }
  const isContradicted = timeline.some(({ kind }) => kind === 'receipt-contrary')
  const openNew = async (made: Promise<{ id: string }>) => {
    const message = await made
    showToast('A new message waits at the end of the lane.')
    await navigate({ to: '/a/$account/developer/logs/$id', params: { account, id: message.id } })
  }
  const cancelling: Asking = {
    title: 'Cancel this message?',
    text:
      (entry.attempts ?? 0) > 0
        ? `It is taken out of the lane of ${connection.number} and not sent again. If an earlier attempt may have arrived, it becomes unconfirmed. Else you can retry it later.`
        : `It is taken out of the lane of ${connection.number} and not sent. You can retry it later.`,
    confirmLabel: 'Cancel message',
    isDanger: true,
    act: async () => {
      showToast(cancelledText(await cancel.mutateAsync({ params })))
    },
  }
  const retrying: Asking = {
    title: 'Send this message again?',
    text: `${isContradicted ? 'A report of the network does not fit what is known of this one: see its timeline. If it did arrive, the recipient gets the same message twice.' : 'This one did not arrive.'} A new message with the same content goes to the end of the lane of ${connection.number}.`,
    confirmLabel: 'Retry',
    isDanger: isContradicted,
    act: () => openNew(retry.mutateAsync({ params })),
  }
  const retryingNow: Asking = {
    title: 'Try it now?',
    text: 'Its wait is ended, so it is tried at once, and later ones to the same recipient after it.',
    confirmLabel: 'Retry now',
    isDanger: false,
    act: async () => {
      await retry.mutateAsync({ params })
      showToast('The wait is ended: the message is tried at once.')
    },
  }
  return [
    ...(actions.includes('unblock') ? [{ label: 'Unblock', asking: unblocking }] : []),
    ...(actions.includes('retry-now') ? [{ label: 'Retry now', asking: retryingNow }] : []),
    ...(actions.includes('cancel') ? [{ label: 'Cancel message', asking: cancelling }] : []),
    ...(actions.includes('retry') ? [{ label: 'Retry', asking: retrying }] : []),
  ]
}

function useUnblocking(recipient: string): Asking {
  const { id: account } = useAccount()
  const unblock = useApiMutation('unblockRecipient')
  return {
    title: `Write to ${recipient} again?`,
    text: 'New messages to it will be sent. This one stays as it is; you can send it again afterwards.',
    confirmLabel: 'Unblock',
    isDanger: false,
    act: async () => {
      await unblock.mutateAsync({ params: { account }, body: { entry: recipient } })
      showToast(`Unblocked ${recipient}. Messages to it will be sent again.`)
    },
  }
}
