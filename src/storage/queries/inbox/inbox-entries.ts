import { type Selectable, sql } from 'kysely'
import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { MessageType } from '../../../core/message/message.ts'
import type { DeliveredMedia, DeliveryView } from '../../../core/ports/console/inbox.ts'
import { shownState } from '../messages/message-view.ts'
import type { Reader, Reading } from '../store.ts'
import type { Tables } from '../tables.generated.ts'

/** A delivery as the sandbox stores it. The JSON value null keeps the place of a delivery that was never made. */
interface StoredRecord {
  readonly to: string
  readonly type: MessageType
  readonly text: string | null
  readonly caption: string | null
  readonly name: string | null
  readonly sizeBytes: number | null
  readonly sha256: string | null
  readonly mime: string | null
  readonly path: string | null
}

export const INBOX_COLUMNS = ['position', 'key', 'value', 'at'] as const
type InboxRow = Pick<Selectable<Tables['channel_memory']>, (typeof INBOX_COLUMNS)[number]>

/** A delivery without the state of its message. */
export interface Entry {
  readonly position: number
  readonly key: string
  readonly messageId: MessageId
  readonly attempt: number
  readonly at: Instant
  readonly to: string
  readonly type: MessageType
  readonly text: string | null
  readonly media: DeliveredMedia | null
}

/** The deliveries of one connection. The kind is a literal, because the index holds only this one. */
export function entriesOf(tables: Reader, connectionId: ConnectionId) {
  return tables
    .selectFrom('channel_memory')
    .where('kind', '=', sql.lit('sandbox.inbox'))
    .where('connection_id', '=', connectionId)
}

/** Empty for the place of a delivery that was never made. */
export function readEntries({ value, ...row }: InboxRow): readonly Entry[] {
  const record = JSON.parse(value) as StoredRecord | null
  if (!record) return []
  const [messageId = '', attempt] = row.key.split('#')
  const { to, type, text } = record
  const media = mediaOf(record)
  return [{ ...row, messageId: messageId as MessageId, attempt: Number(attempt), to, type, text, media }]
}

function mediaOf({ type, name, caption, sizeBytes, mime, sha256, path }: StoredRecord): DeliveredMedia | null {
  if (type === 'message') return null
  return { name: name ?? '', caption, sizeBytes, mime, sha256, isCopied: path !== null }
}

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
