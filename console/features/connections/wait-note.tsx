import { Box, Button, Group } from '@mantine/core'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import { useApiMutation } from '../../api/queries.ts'
import type { StateGroup } from '../../app/theme.ts'
import { useAccount } from '../../components/account.tsx'
import { GoesOn } from '../../components/goes-on.tsx'
import { ReasonNote } from '../../components/reason-note.tsx'
import { displayOfWait } from '../../components/state-display.ts'
import { showErrorToast, showToast } from '../../components/toast.ts'
import { ConfirmBacklog } from './confirm-backlog.tsx'

type Wait = NonNullable<ConnectionView['wait']>

/** Why the lane is not sending, until when, and what to do. Empty while it sends. */
export function WaitNote({ connection }: { readonly connection: ConnectionView }) {
  const { wait, id } = connection
  if (!wait) return null
  return (
    <Box>
      <WhyItWaits id={id} wait={wait} group={connection.group === 'waiting' ? 'moving' : displayOfWait(wait).group} />
      {wait.code === 'backlog_confirmation' ? <ConfirmBacklog connection={connection} /> : null}
    </Box>
  )
}

interface WhyProps {
  readonly id: string
  readonly wait: Wait
  readonly group: StateGroup
}

function WhyItWaits({ id, wait, group }: WhyProps) {
  const { id: account, can } = useAccount()
  const endWait = useApiMutation('endWait')
  const { code, sentence, nextStep, quote, until, canBeEnded } = wait
  const retry = () =>
    endWait
      .mutateAsync({ params: { account, id } })
      .then(() => showToast('The wait is ended: the lane tries at once.'), showErrorToast)
  return (
    <ReasonNote code={code} meaning={sentence} whatToDo={nextStep} quote={quote} group={group}>
      {until === null && !canBeEnded ? null : (
        <Group gap="sm">
          {until === null ? null : <GoesOn until={until} code={code} />}
          {canBeEnded && can('developer') ? (
            <Button size="compact-sm" variant="default" loading={endWait.isPending} onClick={() => void retry()}>
              Retry now
            </Button>
          ) : null}
        </Group>
      )}
    </ReasonNote>
  )
}
