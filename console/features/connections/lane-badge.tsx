import { CircleCheck, CirclePause, Hourglass } from 'lucide-react'
import type { ConnectionRow } from '../../../src/contract/console/connections.ts'
import { GroupLabel } from '../../components/state-label.tsx'
import { laneText } from './connection-labels.ts'

/** The status of a lane as colour, icon and words. */
export function LaneBadge({ connection }: { readonly connection: Pick<ConnectionRow, 'group' | 'wait'> }) {
  const { group, wait } = connection
  const text = laneText(connection)
  if (group === 'paused') {
    return (
      <GroupLabel group="attend" icon={CirclePause}>
        {text}
      </GroupLabel>
    )
  }
  if (group === 'ready') {
    return (
      <GroupLabel group="sent" icon={CircleCheck}>
        {text}
      </GroupLabel>
    )
  }
  const colour = group === 'problem' ? 'attend' : 'moving'
  return wait ? (
    <GroupLabel group={colour} icon={Hourglass}>
      {text}
    </GroupLabel>
  ) : (
    <GroupLabel group={colour}>{text}</GroupLabel>
  )
}
