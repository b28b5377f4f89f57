import { Badge, Group, Text } from '@mantine/core'
import {
  Ban,
  Check,
  CheckCheck,
  CircleHelp,
  CircleX,
  Clock,
  Eye,
  Hourglass,
  type LucideIcon,
  Send,
  ShieldX,
  TimerOff,
  TriangleAlert,
} from 'lucide-react'
import type { ReactNode } from 'react'
import type { StateGroup } from '../app/theme.ts'

const ICONS: Readonly<Record<StateGroup, LucideIcon>> = {
  sent: Check,
  moving: Clock,
  attend: TriangleAlert,
  notsent: CircleX,
  refused: ShieldX,
  closed: Ban,
}
// What went well stays quiet, so that the rest is seen.
const LOUD: ReadonlySet<StateGroup> = new Set(['attend', 'notsent', 'refused'])
const ICON_PX = 15

interface GroupLabelProps {
  readonly group: StateGroup
  readonly icon?: LucideIcon
  /** Not bold, and over several lines where it is long: a sentence. */
  readonly isPlain?: boolean
  readonly children: ReactNode
}

/** A state as colour, icon and word, so that it does not depend on the colour. Problems also have a ground. */
export function GroupLabel({ group, icon, isPlain = false, children }: GroupLabelProps) {
  const Icon = icon ?? ICONS[group]
  const colour = `var(--nc-${group}-fg)`
  if (LOUD.has(group)) {
    return (
      <Badge
        variant="light"
        radius="sm"
        tt="none"
        fw={500}
        leftSection={<Icon size={ICON_PX} aria-hidden />}
        style={{ color: colour, background: `var(--nc-${group}-bg)`, flexShrink: 0 }}
      >
        {children}
      </Badge>
    )
  }
  return (
    <Group
      component="span"
      display="inline-flex"
      gap={6}
      wrap="nowrap"
      c={colour}
      style={{ flexShrink: isPlain ? 1 : 0, verticalAlign: 'middle' }}
    >
      <Icon size={ICON_PX} aria-hidden style={{ flexShrink: 0 }} />
      <Text span size="sm" fw={isPlain ? 400 : 500} style={{ whiteSpace: isPlain ? 'normal' : 'nowrap' }}>
        {children}
      </Text>
    </Group>
  )
}

interface StateDisplay {
  readonly word: string
  readonly group: StateGroup
  readonly icon: LucideIcon
}

const STATES: Readonly<Record<string, StateDisplay>> = {
  QUEUED: { word: 'Queued', group: 'moving', icon: Clock },
  SENDING: { word: 'Sending', group: 'moving', icon: Send },
  PUBLISHED: { word: 'Published', group: 'sent', icon: Check },
  DELIVERED: { word: 'Delivered', group: 'sent', icon: CheckCheck },
  READ: { word: 'Read', group: 'sent', icon: Eye },
  FAILED: { word: 'Failed', group: 'notsent', icon: CircleX },
  UNCONFIRMED: { word: 'Unconfirmed', group: 'attend', icon: CircleHelp },
  EXPIRED: { word: 'Expired', group: 'notsent', icon: TimerOff },
  CANCELLED: { word: 'Cancelled', group: 'closed', icon: Ban },
  REFUSED: { word: 'Refused', group: 'refused', icon: ShieldX },
}

/** The state of a message; REFUSED: a request that made no message. `why` only while it waits. */
export function StateLabel({ state, why }: { readonly state: string; readonly why?: string | null | undefined }) {
  if (state === 'QUEUED' && why) {
    return (
      <GroupLabel group="moving" icon={Hourglass}>
        Waiting: {why}
      </GroupLabel>
    )
  }
  const { group, icon, word } = STATES[state] ?? { word: state, group: 'closed' as const, icon: CircleHelp }
  return (
    <GroupLabel group={group} icon={icon}>
      {word}
    </GroupLabel>
  )
}
