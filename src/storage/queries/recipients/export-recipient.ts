import type { Sequence } from '../../../core/message/message.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import { hintOf } from '../../../core/ports/recipients.ts'
import { change, type Store, writeAudit } from '../store.ts'
import { findBlock } from './block-lists.ts'
import { memoriesAbout, messagesTo, namesOf, type OfRecipient, type OnProgress, requestsAbout } from './find-traces.ts'

const AT_ONCE = 200

/** Something that is known about a recipient, and the list of the export that it belongs to. */
export interface ExportedItem {
  readonly of: 'messages' | 'requests' | 'channelMemory' | 'notices' | 'blocks'
  readonly item: Readonly<Record<string, unknown>>
}

/** Records that a person's data was exported, and the person who did it. */
export function noteExport(store: Store, { accountId, recipient }: OfRecipient, actor: Actor): Promise<void> {
  return change(store, actor, (making) =>
    writeAudit(making, { action: 'recipient.export', object: hintOf(recipient), accountId }),
  )
}

/**
 * Everything that an account has about one number, list after list, some rows in memory at a time. Only what messages
 * are known by is kept until the end: some 100 bytes for each message to the number.
 */
export async function* exportRecipient(
  store: Store,
  { entries, ...of }: OfRecipient & { readonly entries: readonly string[] },
  onProgress?: OnProgress,
): AsyncGenerator<ExportedItem> {
  const known = new Set<string>()
  for await (const found of messagesTo(store, of, onProgress)) {
    for (let at = 0; at < found.length; at += AT_ONCE) {
      const sequences = found.slice(at, at + AT_ONCE)
      for (const name of await namesOf(store, sequences)) known.add(name)
      for (const item of await exportMessages(store, sequences)) yield { of: 'messages', item }
      for (const item of await exportNotifications(store, sequences)) yield { of: 'notices', item }
    }
  }
  for await (const rows of requestsAbout(store, { ...of, messageIds: known }))
    for (const { account_id: _, sequence: __, ...item } of rows) yield { of: 'requests', item }
  for await (const rows of memoriesAbout(store, { ...of, known }))
    for (const { kind, connection_id, key, value, at } of rows)
      yield { of: 'channelMemory', item: { kind, connection_id, key, value, at } }
  const block = await findBlock(store.database, of.accountId, entries)
  if (block) yield { of: 'blocks', item: { ...block } }
}

async function exportMessages({ database }: Store, sequences: readonly Sequence[]) {
  const [messages, attempts, entries, media] = await Promise.all([
    database.selectFrom('message').selectAll().where('sequence', 'in', sequences).orderBy('sequence').execute(),
    database.selectFrom('attempt').selectAll().where('message_sequence', 'in', sequences).orderBy('number').execute(),
    database
      .selectFrom('timeline')
      .selectAll()
      .where('message_sequence', 'in', sequences)
      .orderBy('position')
      .execute(),
    database.selectFrom('media').selectAll().where('message_sequence', 'in', sequences).execute(),
  ])
  const [attemptsOf, momentsOf, mediaOf] = [bySequence(attempts), bySequence(entries), bySequence(media)]
  return messages.map(({ account_id: _, body_crc: __, ...message }) => ({
    ...message,
    attempts: message.attempts,
    attemptLog: attemptsOf(message.sequence),
    timeline: momentsOf(message.sequence),
    media: mediaOf(message.sequence)[0] ?? null,
  }))
}

async function exportNotifications({ database }: Store, sequences: readonly Sequence[]) {
  const rows = await database
    .selectFrom('notice')
    .select(['id', 'kind', 'at', 'data'])
    .where('message_sequence', 'in', sequences)
    .orderBy('position')
    .execute()
  return rows
}

function bySequence<Row extends { readonly message_sequence: Sequence }>(
  rows: readonly Row[],
): (sequence: Sequence) => readonly Omit<Row, 'message_sequence'>[] {
  const grouped = Map.groupBy(rows, (row) => row.message_sequence)
  return (sequence) => (grouped.get(sequence) ?? []).map(({ message_sequence: _, ...row }) => row)
}
