import type { ConnectionRow } from '../../../src/contract/console/connections.ts'
import { displayOfLane } from '../../components/state-display.ts'
import { DisplayLabel } from '../../components/state-label.tsx'

interface LaneBadgeProps {
  readonly connection: Pick<ConnectionRow, 'group' | 'wait'>
}

/** The status of a lane as colour, icon and words. */
export function LaneBadge({ connection }: LaneBadgeProps) {
  return <DisplayLabel display={displayOfLane(connection)} />
}
