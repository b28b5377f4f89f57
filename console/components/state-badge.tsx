import { Badge } from '@mantine/core'
import {
  Ban,
  CheckCheck,
  CircleCheck,
  CircleHelp,
  CircleX,
  Clock,
  Hourglass,
  type LucideIcon,
  Send,
  ShieldX,
  TimerOff,
} from 'lucide-react'
import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet'

const COLOURS: Readonly<Record<Tone, string>> = {
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  busy: 'blue',
  quiet: 'gray',
}
const ICONS: Readonly<Record<Tone, LucideIcon>> = {
  good: CircleCheck,
  bad: CircleX,
  warn: CircleHelp,
  busy: Clock,
  quiet: Clock,
}

/** A state as colour, icon and word, so that it does not depend on the colour. */
export function ToneBadge({
  tone,
  icon,
  children,
}: {
  readonly tone: Tone
  readonly icon?: LucideIcon
  readonly children: ReactNode
}) {
  const Icon = icon ?? ICONS[tone]
  return (
    <Badge color={COLOURS[tone]} variant="light" radius="sm" tt="none" leftSection={<Icon size={14} aria-hidden />}>
      {children}
    </Badge>
  )
}

interface StateDisplay {
  readonly word: string
  readonly tone: Tone
  readonly icon: LucideIcon
}

const STATES: Readonly<Record<string, StateDisplay>> = {
  QUEUED: { word: 'Queued', tone: 'quiet', icon: Clock },
  SENDING: { word: 'Sending', tone: 'busy', icon: Send },
  PUBLISHED: { word: 'Published', tone: 'good', icon: CircleCheck },
  DELIVERED: { word: 'Delivered', tone: 'good', icon: CheckCheck },
  READ: { word: 'Read', tone: 'good', icon: CheckCheck },
  FAILED: { word: 'Failed', tone: 'bad', icon: CircleX },
  UNCONFIRMED: { word: 'Unconfirmed', tone: 'warn', icon: CircleHelp },
  EXPIRED: { word: 'Expired', tone: 'bad', icon: TimerOff },
  CANCELLED: { word: 'Cancelled', tone: 'quiet', icon: Ban },
  REFUSED: { word: 'Refused', tone: 'bad', icon: ShieldX },
}

/** The state of a message; REFUSED: a request that made no message. `why` only while it waits. */
export function StateBadge({ state, why }: { readonly state: string; readonly why?: string | null | undefined }) {
  if (state === 'QUEUED' && why) {
    return (
      <ToneBadge tone="warn" icon={Hourglass}>
        Waiting: {why}
      </ToneBadge>
    )
  }
  const display = STATES[state] ?? { word: state, tone: 'quiet' as const, icon: CircleHelp }
  return (
    <ToneBadge tone={display.tone} icon={display.icon}>
      {display.word}
    </ToneBadge>
  )
}

/** An HTTP status: its number and its name. */
export function HttpBadge({ status }: { readonly status: number }) {
  const tone: Tone = status < 300 ? 'good' : status < 500 ? 'warn' : 'bad'
  return <ToneBadge tone={tone}>{`${status} ${HTTP_NAMES[status] ?? ''}`.trim()}</ToneBadge>
}

const HTTP_NAMES: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Access denied',
  404: 'Not found',
  408: 'Too slow',
  413: 'Too large',
  429: 'Too many',
  431: 'Header too large',
  500: 'Internal error',
  503: 'Unavailable',
}
