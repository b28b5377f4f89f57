import { Badge, Group, Text } from '@mantine/core'
import { Check, CircleX, Clock, type LucideIcon, Minus, ShieldX, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import type { StateGroup } from '../app/theme.ts'
import { displayOf, type StateDisplay, type StateFacts } from './state-display.ts'

const ICONS: Readonly<Record<StateGroup, LucideIcon>> = {
  sent: Check,
  moving: Clock,
  attend: TriangleAlert,
  notsent: CircleX,
  refused: ShieldX,
  closed: Minus,
}
// What went well stays quiet, so that the rest is seen.
const LOUD: ReadonlySet<StateGroup> = new Set(['attend', 'notsent', 'refused'])
const ICON_PX = 15
// Beside the first line of a sentence.
const FIRST_LINE = { height: '1lh' }

interface GroupLabelProps {
  readonly group: StateGroup
  readonly icon?: LucideIcon
  /** Where the icon alone has another colour. */
  readonly iconGroup?: StateGroup | undefined
  readonly hint?: string | undefined
  /** Not bold, without a ground, and over several lines where it is long: a sentence. */
  readonly isPlain?: boolean
  readonly children: ReactNode
}

/** A state as colour, icon and word, so that it does not depend on the colour. Problems also have a ground. */
export function GroupLabel({ group, icon, iconGroup = group, hint, isPlain = false, children }: GroupLabelProps) {
  const Icon = icon ?? ICONS[group]
  if (LOUD.has(group) && !isPlain) {
    return (
      <Badge
        variant="light"
        radius="sm"
        tt="none"
        fw={500}
        leftSection={<Icon size={ICON_PX} aria-hidden />}
        style={{ color: colourOf(group), background: `var(--nc-${group}-bg)`, flexShrink: 0 }}
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
      align={isPlain ? 'flex-start' : 'center'}
      c={colourOf(group)}
      title={hint}
      style={{ flexShrink: isPlain ? 1 : 0, verticalAlign: 'middle' }}
    >
      <Icon
        size={ICON_PX}
        aria-hidden
        style={{ flexShrink: 0, color: colourOf(iconGroup), ...(isPlain ? FIRST_LINE : {}) }}
      />
      <Text span size="sm" fw={isPlain ? 400 : 500} style={{ whiteSpace: isPlain ? 'normal' : 'nowrap' }}>
        {children}
      </Text>
    </Group>
  )
}

function colourOf(group: StateGroup): string {
  return `var(--nc-${group}-fg)`
}

/** With the colour and icon of a state. */
export function DisplayLabel({ display }: { readonly display: StateDisplay }) {
  const { word, group, icon, iconGroup, hint } = display
  return (
    <GroupLabel group={group} icon={icon} iconGroup={iconGroup} hint={hint}>
      {word}
    </GroupLabel>
  )
}

/** The state of a message; REFUSED: a request that made no message. */
export function StateLabel({ state, ...facts }: { readonly state: string } & StateFacts) {
  return <DisplayLabel display={displayOf(state, facts)} />
}
