import { sql } from 'kysely'
import { MOST_DOWNLOADS } from '../../../core/dispatch/media/stage.ts'
import { LONGEST_LEASE_MS } from '../../../core/dispatch/workers/lease.ts'
import type { Instant } from '../../../core/ids.ts'
import type { Tables } from '../tables.generated.ts'

/** Whether the worker dispatches. Other processes send nothing. */
const DISPATCHES = sql<boolean>`(roles is null or ',' || roles || ',' like '%,dispatch,%')`

/**
 * The columns that `explainLane` needs, without those of the media. Tables: connection `c`, lane `l`, its open attempt `o`,
 * the lane's owner `w`. Workers whose lease ends too far ahead to be valid are left out.
 */
export function laneFacts(now: Instant) {
  return [
    'c.state as connection_state',
    'o.message_sequence as open_sequence',
    'o.evidence_until',
    'o.words as open_words',
    'l.owner',
    'l.wait_reason',
    'l.wait_words',
    'l.wait_until',
    'w.heartbeat_until as owner_until',
    sql<string | null>`(select reason from hold)`.as('held'),
    sql<Instant | null>`(select max(heartbeat_until) from worker
      where ${DISPATCHES} and heartbeat_until - ${sql.lit(LONGEST_LEASE_MS)} <= ${now})`.as('workers_until'),
  ] as const
}

const MEDIA = sql<Tables['media']['state'] | null>`x.state`
const NEXT_TRY = sql<Instant | null>`case when x.state = 'pending' and x.tries > 0 then x.next_try_at end`
const LAST_TRY = sql<string | null>`case when x.state = 'pending' and x.tries > 0
  then x.words || ' It is tried again: try ' || (x.tries + 1) || ' of ' || ${sql.lit(MOST_DOWNLOADS)} || '.' end`

/** The same of the attachment of a message, for `explainOwnWait`. Table: its media `x`. */
export const MEDIA_FACTS = [MEDIA.as('media_state'), NEXT_TRY.as('media_try_at'), LAST_TRY.as('media_words')] as const
