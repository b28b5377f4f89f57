import { sql } from 'kysely'
import type { Instant } from '../../core/ids.ts'

/** Whether a row of `worker` is of one that dispatches: others move no lane, however alive they are. */
export const DISPATCHES = sql<boolean>`(roles is null or ',' || roles || ',' like '%,dispatch,%')`

/**
 * What a query selects so that `explainLane` can tell why a lane stands still; `head_media` comes beside it. Tables:
 * connection `c`, lane `l`, its open attempt `o`, the lane's owner `w`.
 */
export const LANE_FACTS = [
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
  sql<Instant | null>`(select max(heartbeat_until) from worker where ${DISPATCHES})`.as('workers_until'),
] as const
