import { CirclePause, Hourglass } from 'lucide-react'
import type { ConnectionRow } from '../../../src/contract/console/connections.ts'
import { ToneBadge } from '../../components/state-badge.tsx'

/** The status of a lane as colour, icon and word. */
export function LaneBadge({ connection }: { readonly connection: Pick<ConnectionRow, 'state' | 'wait' | 'waiting'> }) {
  const { state, wait, waiting } = connection
  if (state === 'paused') {
    return (
      <ToneBadge tone="warn" icon={CirclePause}>
        Paused
      </ToneBadge>
    )
  }
  if (wait) {
    const isAsSet = wait.code === 'pace' || wait.code === 'quiet_hours'
    return (
      <ToneBadge tone={isAsSet ? 'quiet' : 'warn'} icon={Hourglass}>
        Waits
      </ToneBadge>
    )
  }
  return waiting.count > 0 ? <ToneBadge tone="busy">Sending</ToneBadge> : <ToneBadge tone="good">Ready</ToneBadge>
}
