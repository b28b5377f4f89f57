import { sql } from 'kysely'
import type { SettledState } from '../../../core/message/message.ts'
import type { ReasonCode } from '../../../core/reasons.ts'

/**
 * The final state of a message that is taken out of its lane. After an attempt with an unknown result it may have arrived,
 * so it ends UNCONFIRMED and not CANCELLED. For an update of `message`.
 */
export function cancelledEnd(reason: ReasonCode) {
  const mayHaveArrived = sql`exists (select 1 from attempt where message_sequence = message.sequence and outcome = 'unknown')`
  return {
    state: sql<SettledState>`case when ${mayHaveArrived} then 'UNCONFIRMED' else 'CANCELLED' end`,
    retry: null,
    reason: sql<ReasonCode>`case when ${mayHaveArrived} then 'result_unknown' else ${reason} end`,
  }
}
