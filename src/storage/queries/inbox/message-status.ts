import type { MessageId } from '../../../core/ids.ts'
import type { DeliveryView } from '../../../core/ports/console/inbox.ts'
import { shownState } from '../messages/message-view.ts'
import type { Reading } from '../store.ts'
import type { Entry } from './inbox-entries.ts'

/** Deliveries with the current states of their messages. */
export async function withStatuses(reading: Reading, entries: readonly Entry[]): Promise<readonly DeliveryView[]> {
  const statuses = await findStatuses(reading, [...new Set(entries.map(({ messageId }) => messageId))])
  return entries.map(({ position: _, to: __, ...entry }) => {
    const status = statuses.get(entry.messageId)
    return {
      ...entry,
      state: status ? shownState(status) : null,
      requestId: status?.request_id ?? null,
    }
  })
}

async function findStatuses({ tables, engine }: Reading, ids: readonly MessageId[]) {
  if (ids.length === 0) return new Map<MessageId, never>()
  const sequences = [...(await engine.locateMany(tables, ids)).values()]
  if (sequences.length === 0) return new Map<MessageId, never>()
  const rows = await tables
    .selectFrom('message as m')
    .leftJoin('open_attempt as o', (join) =>
      join.onRef('o.connection_id', '=', 'm.connection_id').onRef('o.message_sequence', '=', 'm.sequence'),
    )
    .select(['m.id', 'm.state', 'm.request_id', 'o.message_sequence as open_sequence'])
    .where('m.sequence', 'in', sequences)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
