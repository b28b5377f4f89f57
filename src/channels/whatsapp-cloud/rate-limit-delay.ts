import type { ConnectionId, Instant } from '../../core/ids.ts'
import type { Channel, RateLimitDelay } from '../../core/ports/channel.ts'
import type { NumberMemory } from './number-memory.ts'
import type { Pace } from './pace.ts'
import { readWhatsAppCloudSettings, type StoredSettings } from './settings.ts'

// Meta publishes no slower pace for a number that recipients complain about. A tenth gives its owner time to see it
// before the complaints become a restriction, and still lets 8 messages a second out of an ordinary number.
const FLAGGED_SHARE = 0.1

interface RateLimitParts {
  readonly pace: Pace
  readonly numbers: NumberMemory
}

type Next = Parameters<NonNullable<Channel['rateLimitDelayOf']>>[0]

export function rateLimitDelayOf({ pace, numbers }: RateLimitParts, next: Next, now: Instant): RateLimitDelay | null {
  const { connectionId, to } = next
  const delay = pace.rateLimitDelayOf(
    { connectionId, to, perSecond: paceOf(numbers, connectionId, next.settings) },
    now,
  )
  return delay && { ...delay, scope: delay.reason === 'whatsapp_pair_pace' ? 'recipient' : 'connection', words: null }
}

/** Messages a second: as Meta last reported by callback, or else as it said when the connection was verified. */
export function paceOf(numbers: NumberMemory, connectionId: ConnectionId, settings: StoredSettings): number {
  const { isFlagged, throughputPerSecond } = numbers.peek(connectionId)
  const full = throughputPerSecond ?? readWhatsAppCloudSettings(settings).throughputPerSecond
  return isFlagged ? Math.max(1, full * FLAGGED_SHARE) : full
}
