import { type Selectable, sql } from 'kysely'
import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { ResendFacts } from '../../../core/message/resend-facts.ts'
import { isReasonCode } from '../../../core/reasons.ts'
import { Refusal } from '../../../core/refusals.ts'
import { CHANNEL_ACTOR } from '../../../format/name-actor.ts'
import { newMessageId } from '../new-id.ts'
import { refuseBlocked } from '../recipients/block-lists.ts'
import { addTimelineEntry, type Change, type Reader, touchLane } from '../store.ts'
import type { Tables } from '../tables.generated.ts'
import type { MessageRow } from './message-view.ts'

/** Puts a copy of a message at the end of its line, and links the two. Returns the id of the copy. */
export async function sendAgain(making: Change, old: MessageRow): Promise<MessageId> {
  const { tables, at } = making
  await refuseBlocked(making, { accountId: old.account_id, recipient: old.recipient })
  const connectionId = await livingConnection(making, old)
  const stored = await tables
    .selectFrom('message')
    .selectAll()
    .where('sequence', '=', old.sequence)
    .executeTakeFirstOrThrow()
  refuseWithoutBody(stored)
  const id = newMessageId()
  const { sequence } = await tables
    .insertInto('message')
    .values({ ...copyOf(stored), id, connection_id: connectionId, accepted_at: at, resend_of: old.sequence })
    .returning('sequence')
    .executeTakeFirstOrThrow()
  if (old.type !== 'message') await copyMedia(making, old, { sequence, connectionId })
  const { numUpdatedRows } = await tables
    .updateTable('message')
    .set({ resent_as: sequence })
    .where('sequence', '=', old.sequence)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) throw new Error('A message that was locked has moved on')
  const { actor: by } = making
  // A person has reasons of their own; a channel repeats for what the network said of the old one.
  const why = by === CHANNEL_ACTOR && old.reason !== null && isReasonCode(old.reason) ? { code: old.reason } : {}
  await addTimelineEntry(making, { sequence: old.sequence, kind: 'sent-again', ...why, facts: { newMessage: id, by } })
  await addTimelineEntry(making, { sequence, kind: 'sent-again', ...why, facts: { oldMessage: old.id, by } })
  await touchLane(making, connectionId)
  return id
}

function refuseWithoutBody({ body_deleted_at: at }: Selectable<Tables['message']>): void {
  if (at === null) return
  const day = new Date(at).toISOString().slice(0, 10)
  throw new Refusal(
    'message_body_deleted',
    `The content of this message was deleted on ${day}, because its time was over. Ask the sender of the request to send it anew.`,
  )
}

/** The content and recipient, which a copy shares with its original. It shares neither the request nor the result. */
function copyOf(stored: Selectable<Tables['message']>) {
  return {
    account_id: stored.account_id,
    recipient: stored.recipient,
    type: stored.type,
    body: stored.body,
    // Copied and not computed again, so that damage of the old row is detected in the copy, too.
    body_crc: stored.body_crc,
    state: 'QUEUED' as const,
  }
}

/** The message's own connection, or the one that took its number over after it had been removed. */
async function livingConnection({ tables }: Change, old: MessageRow): Promise<ConnectionId> {
  if (old.connection_state !== 'removed') return old.connection_id
  const successor = await findSuccessor(tables, old)
  if (successor) return successor
  throw new Refusal(
    'connection_unknown',
    `The connection ${old.number} was removed. Add the number again, then the message can be sent again.`,
  )
}

/** The living connection of the number. */
export async function findSuccessor(
  tables: Reader,
  { account_id, number }: Pick<MessageRow, 'account_id' | 'number'>,
): Promise<ConnectionId | null> {
  const successor = await tables
    .selectFrom('connection')
    .select('id')
    .where('account_id', '=', account_id)
    .where('number', '=', number)
    .where('state', '<>', 'removed')
    .executeTakeFirst()
  return successor?.id ?? null
}

const EXISTS = (rows: ReturnType<typeof sql>) => sql<0 | 1>`case when exists (${rows}) then 1 else 0 end`

/** What decides whether a message can be sent again, beside its own row. Tables: message `m`, its connection `c`. */
export const RESEND_FACTS = [
  EXISTS(
    sql`select 1 from connection s where s.account_id = m.account_id and s.number = c.number and s.state <> 'removed'`,
  ).as('has_connection'),
  EXISTS(sql`select 1 from blocked_recipient b where b.account_id = m.account_id and b.recipient = m.recipient`).as(
    'is_blocked',
  ),
] as const

interface ResendRow {
  readonly body_deleted_at: Instant | null
  readonly has_connection: 0 | 1
  readonly is_blocked: 0 | 1
}

export function toResendFacts(row: ResendRow): ResendFacts {
  return {
    hasConnection: row.has_connection === 1,
    bodyDeletedAt: row.body_deleted_at,
    isBlocked: row.is_blocked === 1,
  }
}

async function copyMedia(
  { tables, at }: Change,
  old: MessageRow,
  copy: { readonly sequence: number; readonly connectionId: ConnectionId },
): Promise<void> {
  const { url } = await tables
    .selectFrom('media')
    .select('url')
    .where('message_sequence', '=', old.sequence)
    .executeTakeFirstOrThrow()
  await tables
    .insertInto('media')
    .values({
      message_sequence: copy.sequence,
      account_id: old.account_id,
      connection_id: copy.connectionId,
      url,
      type: old.type,
      state: 'pending',
      next_try_at: at,
    })
    .execute()
}
