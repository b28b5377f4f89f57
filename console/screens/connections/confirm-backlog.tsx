import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import { useAct } from '../../api/queries.ts'
import { useAccount } from '../../parts/account.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { tell } from '../../parts/tell.ts'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { messages } from './connection-words.ts'
import { writeDuration } from './duration-text.ts'

/** Lets what has piled up drain, once a person has seen how much it is. */
export function ConfirmBacklog({ connection }: { readonly connection: ConnectionView }) {
  const { id: account, can } = useAccount()
  const [isOpen, setOpen] = useState(false)
  const confirm = useAct('confirmBacklog')
  const { id, number, waiting, oldestWaitingAt, pace } = connection
  if (!can('developer')) return null
  const takesMs = pace.perMessageMs === null ? null : Math.ceil((waiting.count * pace.perMessageMs) / 60_000) * 60_000
  return (
    <Group mt="sm">
      <Button size="compact-sm" onClick={() => setOpen(true)}>
        Send what waits
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={`Send what has piled up on ${number}?`}
        confirmLabel="Send it"
        isDanger={false}
        onConfirm={async () => {
          await confirm.mutateAsync({ params: { account, id } })
          tell('Confirmed: the lane goes on.')
        }}
      >
        <Text size="sm" component="div">
          {messages(waiting)} will be sent in their order.{' '}
          {oldestWaitingAt === null ? null : (
            <>
              The oldest was accepted <TimeAgo at={oldestWaitingAt} />.{' '}
            </>
          )}
          {takesMs === null ? null : `At its pace that takes about ${writeDuration(takesMs)}.`} What nobody wants any
          more you can cancel first.
        </Text>
      </ConfirmDialog>
    </Group>
  )
}
