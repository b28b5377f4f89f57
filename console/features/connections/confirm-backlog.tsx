import { Button, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import { formatDuration, parseDurationMs } from '../../../src/format/durations.ts'
import { CallProblem } from '../../api/call-problem.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { takenOutText } from '../../components/taken-out-text.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { messages } from './connection-labels.ts'
import { useCancelWaiting } from './use-cancel-waiting.ts'

interface ConfirmBacklogProps {
  readonly connection: ConnectionView
}

/** Confirms a backlog after the person has seen its size. */
export function ConfirmBacklog({ connection }: ConfirmBacklogProps) {
  const { can } = useAccount()
  const [isOpen, setOpen] = useState(false)
  if (!can('developer')) return null
  return (
    <Group mt="sm">
      <Button size="compact-sm" onClick={() => setOpen(true)}>
        Send what waits
      </Button>
      <ConfirmBacklogDialog connection={connection} isOpen={isOpen} onClose={() => setOpen(false)} />
    </Group>
  )
}

interface ConfirmBacklogDialogProps extends ConfirmBacklogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

function ConfirmBacklogDialog({ connection, isOpen, onClose }: ConfirmBacklogDialogProps) {
  const { id: account } = useAccount()
  const { id, number, waiting } = connection
  const [age, setAge] = useState('')
  const [done, setDone] = useState<number | null>(null)
  const confirm = useApiMutation('confirmBacklog')
  const cancel = useCancelWaiting(id)
  const cancelOld = async () => {
    if (age.trim() === '') return { cancelled: 0, unconfirmed: 0 }
    const olderThanMs = parseDurationMs(age)
    if (!olderThanMs) {
      const message = `“${age}” is not a time. Write one such as 30m or 6h, or nothing.`
      throw new CallProblem({ status: 0, code: 'input_invalid', message })
    }
    return cancel({ olderThanMs, onPart: setDone })
  }
  const act = async () => {
    const old = await cancelOld()
    const taken = old.cancelled + old.unconfirmed
    setDone(taken)
    // When no old message is left, the lane may have continued by itself.
    await confirm.mutateAsync({ params: { account, id } }).catch((error: unknown) => {
      if (!(taken > 0 && error instanceof CallProblem && error.code === 'lane_not_waiting')) throw error
    })
    const first = taken > 0 ? `${takenOutText(old)} ` : ''
    showToast(`${first}Confirmed: the lane goes on.`)
    setAge('')
    setDone(null)
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Send what has piled up on ${number}?`}
      confirmLabel="Send it"
      isDanger={false}
      onConfirm={act}
    >
      <BacklogFacts connection={connection} />
      <TextInput
        mt="sm"
        label="Cancel first what is older than"
        description="Empty: everything is sent."
        placeholder="6h"
        value={age}
        onChange={(event) => setAge(event.currentTarget.value)}
        autoComplete="off"
      />
      <Text size="sm" mt="sm" mih={22} role="status">
        {done ? `${messages({ count: done, isMore: false })} of ${messages(waiting)} taken out so far.` : ''}
      </Text>
    </ConfirmDialog>
  )
}

function BacklogFacts({ connection: { waiting, oldestWaitingAt, pace } }: ConfirmBacklogProps) {
  const takesMs = pace.perMessageMs === null ? null : Math.ceil((waiting.count * pace.perMessageMs) / 60_000) * 60_000
  return (
    <Text size="sm" component="div">
      {messages(waiting)} will be sent in their order.{' '}
      {oldestWaitingAt === null ? null : (
        <>
          The oldest was accepted <TimeAgo at={oldestWaitingAt} />.{' '}
        </>
      )}
      {takesMs === null ? null : `At its pace that takes about ${formatDuration(takesMs)}.`}
    </Text>
  )
}
