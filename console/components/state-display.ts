import {
  Ban,
  Check,
  CheckCheck,
  CircleHelp,
  CirclePause,
  CircleX,
  Clock,
  Copy,
  Eye,
  Hourglass,
  type LucideIcon,
  Send,
  ShieldX,
  TimerOff,
  TriangleAlert,
} from 'lucide-react'
import type { ConnectionRow, LaneWaitView } from '../../src/contract/console/connections.ts'
import { NEEDS_PERSON } from '../../src/format/waits.ts'
import type { StateGroup } from '../app/theme.ts'

/** A state as colour, icon and word. */
export interface StateDisplay {
  readonly word: string
  readonly group: StateGroup
  readonly icon: LucideIcon
  /** Where the icon alone has another colour. */
  readonly iconGroup?: StateGroup
  readonly hint?: string
}

const STATES: Readonly<Record<string, StateDisplay>> = {
  QUEUED: { word: 'Queued', group: 'moving', icon: Clock },
  SENDING: { word: 'Sending', group: 'moving', icon: Send },
  PUBLISHED: { word: 'Published', group: 'sent', icon: Check, hint: 'Sent: the network has it' },
  DELIVERED: { word: 'Delivered', group: 'sent', icon: CheckCheck },
  READ: { word: 'Read', group: 'sent', icon: Eye },
  FAILED: { word: 'Failed', group: 'notsent', icon: CircleX },
  UNCONFIRMED: { word: 'Unconfirmed', group: 'attend', icon: CircleHelp },
  EXPIRED: { word: 'Expired', group: 'notsent', icon: TimerOff },
  CANCELLED: { word: 'Cancelled', group: 'closed', icon: Ban },
  REFUSED: { word: 'Refused', group: 'refused', icon: ShieldX },
}

/** With these reasons a message is sent by itself at its turn. */
const OF_ITS_TURN: ReadonlySet<string> = new Set(['behind_others', 'due'])

/** Why a message is in its state. */
export interface StateFacts {
  /** A code of docs/reasons.md, or of a fact that has none there. */
  readonly code?: string | null | undefined
  /** It waits, and an attempt before may have arrived. */
  readonly mayHaveLeft?: boolean
}

/** The state of a message; REFUSED: a request that made no message. */
export function displayOf(state: string, { code = null, mayHaveLeft = false }: StateFacts = {}): StateDisplay {
  const display = STATES[state] ?? { word: state, group: 'closed', icon: CircleHelp }
  if (state === 'QUEUED') {
    const icon = code === null || OF_ITS_TURN.has(code) ? Clock : Hourglass
    return { ...display, icon, group: mayHaveLeft || NEEDS_PERSON.has(code ?? '') ? 'attend' : 'moving' }
  }
  // Its attempt has ended, or no process has it: what became of it is not known yet.
  if (state === 'SENDING' && code !== null && code !== 'sending')
    return { ...display, group: 'attend', icon: CircleHelp }
  if (display.group !== 'sent') return display
  if (code === 'possible_duplicate') return { ...display, icon: Copy, iconGroup: 'attend' }
  return code === 'reports_missing' ? { ...display, iconGroup: 'attend' } : display
}

/**
 * The state of a number with waiting messages. `wait` null: it sends. `list` may be empty where the cause is shown beside it.
 */
export function displayOfWait(wait: Pick<LaneWaitView, 'code' | 'list'> | null): StateDisplay {
  if (wait === null) return { word: 'Sending', group: 'moving', icon: Send }
  const { code, list: word } = wait
  if (code === 'pace' || code === 'quiet_hours' || code === 'all_deferred')
    return { word, group: 'moving', icon: Hourglass }
  if (code === 'paused') return { word, group: 'attend', icon: CirclePause }
  if (NEEDS_PERSON.has(code))
    return { word: word ? `Needs you: ${word}` : 'Needs you', group: 'attend', icon: TriangleAlert }
  return { word, group: 'attend', icon: Hourglass }
}

const READY: StateDisplay = { word: 'Ready', group: 'sent', icon: Check }

/** The status of a lane. */
export function displayOfLane({ group, wait }: Pick<ConnectionRow, 'group' | 'wait'>): StateDisplay {
  if (group === 'ready') return READY
  const display = displayOfWait(wait)
  // What its messages wait for is no problem of the number.
  return group === 'waiting' && wait ? { ...display, group: 'moving' } : display
}
