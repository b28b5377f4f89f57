import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { DeliveredMedia, DeliveryTimeline } from '../../../core/ports/console/inbox.ts'
import { type Reading, type Store, snapshot } from '../store.ts'
import { entriesOf, readEntry } from './inbox-entries.ts'
import { withStatuses } from './message-status.ts'

type Times = Pick<DeliveryTimeline, 'body' | 'acceptedAt' | 'publishedAt' | 'deliveredAt' | 'readAt'>

const NOTHING_KEPT: Times = { body: null, acceptedAt: null, publishedAt: null, deliveredAt: null, readAt: null }

export function explainDelivery(
  store: Store,
  connection: { readonly id: ConnectionId; readonly number: string },
  key: string,
): Promise<DeliveryTimeline | null> {
  return snapshot(store, async (tables) => {
    const reading = { tables, engine: store.engine }
    const row = await entriesOf(tables, connection.id)
      .select(['position', 'key', 'value', 'at'])
      .where('key', '=', key)
      .executeTakeFirst()
    const entry = row && readEntry(row)
    if (!entry) return null
    const [delivery] = await withStatuses(reading, [entry])
    if (!delivery) return null
    return { ...delivery, connection: connection.number, to: entry.to, ...(await readTimes(reading, entry.messageId)) }
  })
}

async function readTimes(reading: Reading, id: MessageId): Promise<Times> {
  const { tables, engine } = reading
  const sequence = await engine.locate(tables, id)
  if (sequence === null) return NOTHING_KEPT
  const row = await tables
    .selectFrom('message')
    .select(['body', 'accepted_at', 'published_at', 'body_deleted_at'])
    .where('sequence', '=', sequence)
    .executeTakeFirst()
  if (!row) return NOTHING_KEPT
  return {
    body: row.body_deleted_at === null ? row.body : null,
    acceptedAt: row.accepted_at,
    publishedAt: row.published_at,
    ...(await receiptTimes(reading, sequence)),
  }
}

async function receiptTimes({ tables }: Reading, sequence: Sequence): Promise<Pick<Times, 'deliveredAt' | 'readAt'>> {
  const rows = await tables
    .selectFrom('timeline')
    .select(['kind', 'at'])
    .where('message_sequence', '=', sequence)
    .where('kind', 'in', ['receipt-delivered', 'receipt-read'])
    .orderBy('position')
    .execute()
  const first = (kind: string): Instant | null => rows.find((row) => row.kind === kind)?.at ?? null
  return { deliveredAt: first('receipt-delivered'), readAt: first('receipt-read') }
}

/** Its message may have been delivered by several attempts: all of them carried the same file. */
export async function findMedia(
  { database }: Store,
  connectionId: ConnectionId,
  messageId: MessageId,
): Promise<DeliveredMedia | null> {
  const rows = await entriesOf(database, connectionId)
    .select(['position', 'key', 'value', 'at'])
    .where('key', '>=', `${messageId}#`)
    // `$` comes right after `#`.
    .where('key', '<', `${messageId}$`)
    .execute()
  const found = rows.map(readEntry).filter((entry) => entry !== null)
  return found.find(({ media }) => media !== null)?.media ?? null
}
