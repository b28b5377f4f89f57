import type { LanePolicy } from '../../src/core/connection/lane-policy.ts'
import type { ConnectionId } from '../../src/core/ids.ts'
import type { RetryState } from '../../src/core/message/message.ts'

// A lane that was not notified that a file came or failed checks a deferred message once a minute.
const FILE_NOTICED_WITHIN_MS = 60_000
// No rule makes a lane or a message wait longer than a network may ask for.
const LONGEST_WAIT_MS = 3_600_000

export interface FirstRow {
  readonly id: ConnectionId
  readonly policy: string
  readonly channel: string
  readonly sequence: number
  readonly recipient: string
  readonly retry: string | null
  readonly media: string | null
  readonly media_at: number | null
  readonly wait_reason: string | null
  readonly wait_until: number | null
  readonly last_attempt_at: number | null
  /** The message of the connection's open attempt; null if there is none. */
  readonly open: number | null
}

/** Selects the first message of each recipient. */
export const FIRSTS = `select connection.id, connection.policy, connection.channel, message.sequence, message.recipient, message.retry, media.state as media,
    (select max(m.ended_at) from media m join message o on o.sequence = m.message_sequence
      where o.connection_id = first.connection_id and o.recipient = message.recipient) as media_at,
    lane.wait_reason, lane.wait_until, lane.last_attempt_at, open_attempt.message_sequence as open
  from (select connection_id, min(sequence) as sequence from waiting group by connection_id, recipient) first
  join message on message.sequence = first.sequence
  join connection on connection.id = first.connection_id
  left join media on media.message_sequence = first.sequence
  left join lane on lane.connection_id = connection.id
  left join open_attempt on open_attempt.connection_id = connection.id
  where connection.state = 'active'
  order by first.sequence`

const SAID_ANEW: readonly string[] = ['all_deferred', 'pace']
/** The reasons for which a whole lane may wait. */
export const OF_A_LANE: ReadonlySet<string> = new Set([
  ...SAID_ANEW,
  'backlog_confirmation',
  'trouble',
  'connection_away',
  'rate_limited',
  'whatsapp_number_pace',
  'credentials_refused',
])

/** Whether the message waits for nothing of its own. Computed from the rows, independently of `decideMessage`. */
export function isReady(first: FirstRow, now: number): boolean {
  if (first.open === first.sequence) return false
  if (first.media === 'pending' || (first.media_at !== null && now < first.media_at + FILE_NOTICED_WITHIN_MS))
    return false
  const { wait } = JSON.parse(first.retry ?? '{}') as Partial<RetryState>
  // Only the network knows whether an upload still runs.
  return !wait || wait.kind === 'upload' || wait.until <= now || wait.until > now + LONGEST_WAIT_MS
}

/** Whether the message is ready and its lane does not wait either. */
export function isDue(first: FirstRow, now: number): boolean {
  if (first.open !== null || !isReady(first, now)) return false
  const { leastGapMs, gapJitterMs, confirmBacklogAfterMs } = JSON.parse(first.policy) as LanePolicy
  if (
    first.last_attempt_at !== null &&
    first.last_attempt_at <= now &&
    now < first.last_attempt_at + leastGapMs + gapJitterMs
  )
    return false
  // This wait lasts until a person confirms.
  if (first.wait_reason === 'backlog_confirmation' && confirmBacklogAfterMs > 0) return false
  if (first.wait_reason === null || first.wait_until === null) return true
  if (SAID_ANEW.includes(first.wait_reason) || first.wait_until > now + LONGEST_WAIT_MS) return true
  return first.wait_until <= now
}
