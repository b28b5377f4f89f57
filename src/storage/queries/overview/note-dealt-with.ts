import type { MessageState } from '../../../core/message/message.ts'
import type { MessageRow } from '../messages/message-view.ts'
import type { Change } from '../store.ts'
import { ALL_CONNECTIONS, talliedAs } from './hour-tally.ts'
import { firstWhole, hourOf } from './hours.ts'

type Dealt = Pick<MessageRow, 'account_id' | 'connection_id' | 'state' | 'reason' | 'accepted_at'>

/**
 * A person has dealt with a message, so the overview must no longer show that it needs attention. Its hour is counted again
 * at once; the figures of an hour that is too old for that are corrected.
 */
export async function noteDealtWith(making: Change, message: Dealt, now: MessageState): Promise<void> {
  const { tables, at } = making
  const hour = hourOf(message.accepted_at)
  if (hour >= firstWhole(at)) {
    await tables.updateTable('tally_hour').set({ counted_at: 0 }).where('hour', '=', hour).execute()
    return
  }
  await takeOneReason(making, message)
  const [before, after] = [talliedAs(message.state), talliedAs(now)]
  if (before === after) return
  for (const connectionId of [ALL_CONNECTIONS, message.connection_id]) {
    const of = { account_id: message.account_id, connection_id: connectionId, hour }
    const taken = await tables
      .updateTable('tally')
      .set((row) => ({ count: row('count', '-', 1) }))
      .where('account_id', '=', of.account_id)
      .where('connection_id', '=', of.connection_id)
      .where('hour', '=', of.hour)
      .where('state', '=', before)
      .where('count', '>', 0)
      .executeTakeFirstOrThrow()
    if (taken.numUpdatedRows === 0n) continue
    await tables
      .insertInto('tally')
      .values({ ...of, state: after, count: 1 })
      .onConflict((same) =>
        same
          .columns(['account_id', 'connection_id', 'hour', 'state'])
          .doUpdateSet((row) => ({ count: row('tally.count', '+', 1) })),
      )
      .execute()
  }
}

async function takeOneReason({ tables }: Change, { account_id, state, reason, accepted_at }: Dealt): Promise<void> {
  const last = await tables
    .deleteFrom('tally_reason')
    .where('account_id', '=', account_id)
    .where('hour', '=', hourOf(accepted_at))
    .where('state', '=', state)
    .where('reason', '=', reason ?? '')
    .where('count', '<=', 1)
    .executeTakeFirstOrThrow()
  if (last.numDeletedRows > 0n) return
  await tables
    .updateTable('tally_reason')
    .set((row) => ({ count: row('count', '-', 1) }))
    .where('account_id', '=', account_id)
    .where('hour', '=', hourOf(accepted_at))
    .where('state', '=', state)
    .where('reason', '=', reason ?? '')
    .execute()
}
