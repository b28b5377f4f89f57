import { BellRing, Info, TriangleAlert } from 'lucide-react'
import type { AlarmReply } from '../../src/contract/console/alarms.ts'
import { type Tone, ToneBadge } from './state-badge.tsx'

const BADGES = {
  critical: { word: 'Critical', tone: 'bad', icon: BellRing },
  warning: { word: 'Warning', tone: 'warn', icon: TriangleAlert },
  info: { word: 'To know', tone: 'quiet', icon: Info },
} as const satisfies Record<AlarmReply['severity'], { word: string; tone: Tone; icon: typeof Info }>

/** The severity of an alarm. */
export function SeverityBadge({ severity }: Pick<AlarmReply, 'severity'>) {
  const { word, tone, icon } = BADGES[severity]
  return (
    <ToneBadge tone={tone} icon={icon}>
      {word}
    </ToneBadge>
  )
}
