import { BellRing, Info, TriangleAlert } from 'lucide-react'
import type { AlarmReply } from '../../src/contract/console/alarms.ts'
import type { StateGroup } from '../app/theme.ts'
import { GroupLabel } from './state-label.tsx'

const BADGES = {
  critical: { word: 'Critical', group: 'notsent', icon: BellRing },
  warning: { word: 'Warning', group: 'attend', icon: TriangleAlert },
  info: { word: 'To know', group: 'closed', icon: Info },
} as const satisfies Record<AlarmReply['severity'], { word: string; group: StateGroup; icon: typeof Info }>

/** The severity of an alarm. */
export function SeverityBadge({ severity }: Pick<AlarmReply, 'severity'>) {
  const { word, group, icon } = BADGES[severity]
  return (
    <GroupLabel group={group} icon={icon}>
      {word}
    </GroupLabel>
  )
}
