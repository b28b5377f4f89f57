import { sql } from 'kysely'
import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { MessageType } from '../../../core/message/message.ts'
import type { DeliveredMedia } from '../../../core/ports/console/inbox.ts'
import type { Reader } from '../store.ts'

/** As the sandbox remembers a delivery. JSON of null keeps the place of one that never was. */
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

export interface InboxRow {
  readonly position: number
  readonly key: string
  readonly value: string
  readonly at: Instant
}

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

/** Null where something might have been delivered and was not. */
export function readEntry({ position, key, value, at }: InboxRow): Entry | null {
  const record = JSON.parse(value) as StoredRecord | null
  if (!record) return null
  const [messageId = '', attempt] = key.split('#')
  const { to, type, text } = record
  return {
    position,
    key,
    messageId: messageId as MessageId,
    attempt: Number(attempt),
    at,
    to,
    type,
    text,
    media: mediaOf(record),
  }
}

function mediaOf({ type, name, caption, sizeBytes, mime, sha256, path }: StoredRecord): DeliveredMedia | null {
  if (type === 'message') return null
  return { name: name ?? '', caption, sizeBytes, mime, sha256, isCopied: path !== null }
}
