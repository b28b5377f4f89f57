import { CirclePause, Hourglass } from 'lucide-react'
import type { ConnectionRow } from '../../../src/contract/console/connections.ts'
import { GroupLabel } from '../../components/state-label.tsx'

/** The status of a lane as colour, icon and word. */
export function LaneBadge({ connection }: { readonly connection: Pick<ConnectionRow, 'state' | 'wait' | 'waiting'> }) {
  const { state, wait, waiting } = connection
  if (state === 'paused') {
    return (
      <GroupLabel group="attend" icon={CirclePause}>
        Paused
      </GroupLabel>
    )
  }
  if (wait) {
    const isAsSet = wait.code === 'pace' || wait.code === 'quiet_hours'
    return (
      <GroupLabel group={isAsSet ? 'moving' : 'attend'} icon={Hourglass}>
        Waits
      </GroupLabel>
    )
  }
  return waiting.count > 0 ? (
    <GroupLabel group="moving">Sending</GroupLabel>
  ) : (
    <GroupLabel group="sent">Ready</GroupLabel>
  )
}
