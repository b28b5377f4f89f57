import { crc32 } from 'node:zlib'
import { sql } from 'kysely'
import { ERASED, erasedBody, mentionsNumber, namesNumber } from '../../../core/message/erased.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { TakenOut } from '../../../core/message/taken-out.ts'
import { NONE_TAKEN_OUT } from '../../../core/message/taken-out.ts'
import { spellingsOf } from '../../../core/number-spellings.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import { hintOf } from '../../../core/ports/recipients.ts'
import { Refusal } from '../../../core/refusals.ts'
import { counted } from '../../../format/counted.ts'
import { yieldToWriters } from '../messages/cancel-waiting.ts'
import { cancelMessage } from '../messages/change-message.ts'
import { pages } from '../pages.ts'
import { addTimelineEntry, type Change, change, type Store, writeAudit } from '../store.ts'
import { hideBlock } from './block-lists.ts'
import { memoriesAbout, messagesTo, namesOf, type OfRecipient, type OnProgress, requestsAbout } from './find-traces.ts'

const READ_AT_ONCE = 5_000
const ERASED_AT_ONCE = 100

// A few milliseconds of writing: the service accepts messages at the same time.
const AT_ONCE = 100

interface WantedErasure extends OfRecipient {
  readonly cancelWaiting: boolean
  /** What stays in the block list in the place of the number, if it is blocked. */
  readonly hashedEntry: string
}

export interface Erased extends TakenOut {
  readonly messages: number
  readonly requests: number
  readonly memories: number
}

interface ErasingParts {
  readonly onProgress?: OnProgress
  /** Removes a file that shows what was sent. Harmless when it is gone. */
  readonly removeFile: (path: string) => Promise<void>
}

/**
 * Erases the personal data of one number in an account: the number and the content sent to it, but not that something was
 * sent, when, and its result. Each small part is a transaction. After an interruption the same call finishes the work,
 * because rows that refer to messages are erased before the messages. At the end it checks whether anything is left.
 */
export async function eraseRecipient(
  store: Store,
  wanted: WantedErasure,
  { actor, ...parts }: ErasingParts & { readonly actor: Actor },
): Promise<Erased> {
  const taken = await endWaiting(store, wanted, actor)
  const known = new Set<string>()
  const found: Sequence[] = []
  for await (const sequences of messagesTo(store, wanted, parts.onProgress)) {
    found.push(...sequences)
    for (const name of await namesOf(store, sequences)) known.add(name)
  }
  const memories = await eraseMemories(store, { ...wanted, known }, { actor, ...parts })
  const requests = await eraseRequests(store, { ...wanted, messageIds: known }, actor)
  for (let at = 0; at < found.length; at += AT_ONCE) {
    if (at > 0) await yieldToWriters()
    await change(store, actor, (making) => eraseMessages(making, wanted, found.slice(at, at + AT_ONCE)))
  }
  await eraseNotices(store, wanted, actor)
  await eraseKeys(store, wanted, actor)
  const erased = { messages: found.length, requests, memories, ...taken }
  await change(store, actor, async (making) => {
    await hideBlock(making, { ...wanted, entry: wanted.hashedEntry })
    await eraseWaitWords(making, wanted)
    await eraseSessionKeys(making, wanted)
    const { accountId, recipient } = wanted
    await writeAudit(making, { action: 'recipient.erase', object: hintOf(recipient), accountId, detail: { ...erased } })
  })
  await refuseLeftovers(store, wanted)
  return erased
}

/** Refuses while a message waits that may not be cancelled, or that is being sent. */
async function endWaiting(
  store: Store,
  { accountId, recipient, cancelWaiting }: WantedErasure,
  actor: Actor,
): Promise<TakenOut> {
  const waiting = await store.database
    .selectFrom('waiting')
    .select('id')
    .where('account_id', '=', accountId)
    .where('recipient', '=', recipient)
    .execute()
  if (waiting.length === 0) return NONE_TAKEN_OUT
  if (!cancelWaiting) {
    throw new Refusal(
      'recipient_has_waiting',
      `${counted(waiting.length, 'message waits', 'messages wait')} for this recipient. Say --cancel-waiting to cancel them first.`,
    )
  }
  let cancelled = 0
  for (const { id } of waiting) if ((await cancelMessage(store, id, actor)).state === 'CANCELLED') cancelled += 1
  return { cancelled, unconfirmed: waiting.length - cancelled }
}

async function eraseMemories(
  store: Store,
  of: OfRecipient & { readonly known: ReadonlySet<string> },
  { actor, removeFile }: ErasingParts & { readonly actor: Actor },
): Promise<number> {
  let count = 0
  for await (const rows of memoriesAbout(store, of)) {
    for (const { kind, value } of rows) {
      const path = kind === 'sandbox.inbox' ? pathIn(value) : null
      if (path !== null) await removeFile(path)
    }
    const positions = rows.map(({ position }) => position)
    await change(store, actor, ({ tables }) =>
      tables.deleteFrom('channel_memory').where('position', 'in', positions).execute(),
    )
    count += rows.length
  }
  return count
}

function pathIn(value: string): string | null {
  const record = JSON.parse(value) as { readonly path?: unknown } | null
  return typeof record?.path === 'string' ? record.path : null
}

async function eraseRequests(
  store: Store,
  of: OfRecipient & { readonly messageIds: ReadonlySet<string> },
  actor: Actor,
): Promise<number> {
  const pattern = namesNumber(of.recipient)
  let count = 0
  for await (const rows of requestsAbout(store, of)) {
    await change(store, actor, async ({ tables }) => {
      for (const { sequence, errors, user_agent: userAgent } of rows) {
        await tables
          .updateTable('request')
          .set({
            body: null,
            errors: errors?.replaceAll(pattern, ERASED) ?? null,
            user_agent: userAgent === null || mentionsNumber(userAgent, of.recipient) ? null : userAgent,
          })
          .where('account_id', '=', of.accountId)
          .where('sequence', '=', sequence)
          .execute()
      }
    })
    count += rows.length
  }
  return count
}

async function eraseMessages(
  making: Change,
  { accountId, recipient }: OfRecipient,
  sequences: readonly Sequence[],
): Promise<void> {
  const { tables, engine } = making
  const rows = await tables
    .selectFrom('message as m')
    .innerJoin('connection as c', 'c.id', 'm.connection_id')
    .select(['m.sequence', 'm.type', 'm.state', 'm.connection_id', 'c.number'])
    .where('m.sequence', 'in', sequences)
    .where('m.recipient', '=', recipient)
    .execute()
  // All transactions lock the last message first.
  for (const { sequence, type, state, number } of rows.toSorted((a, b) => b.sequence - a.sequence)) {
    if (state === 'QUEUED') throw stillWaiting()
    const body = erasedBody({ from: number, type })
    await engine.eraseMessage(tables, { accountId, sequence, recipient: ERASED, body, bodyCrc: crc32(body) })
    await tables
      .updateTable('timeline')
      .set({ words: null })
      .where('message_sequence', '=', sequence)
      .where('words', 'is not', null)
      .execute()
    await addTimelineEntry(making, { sequence, kind: 'erased', facts: { by: making.actor } })
    await tables
      .updateTable('media')
      .set({ url: '', words: null, sha256: null })
      .where('account_id', '=', accountId)
      .where('message_sequence', '=', sequence)
      .execute()
  }
}

/** Callers may put the number into their idempotency keys. Without its key a request that is repeated is a new one. */
async function eraseKeys(store: Store, { accountId, recipient }: OfRecipient, actor: Actor): Promise<void> {
  const plain = sql`replace(replace(replace(replace(key, ' ', ''), '-', ''), '.', ''), '/', '')`
  const { rows } = await sql<{ key: string }>`
    select key from idempotency where account_id = ${accountId} and ${plain} like ${`%${recipient}%`}`.execute(
    store.database,
  )
  for (let at = 0; at < rows.length; at += AT_ONCE) {
    const keys = rows.slice(at, at + AT_ONCE).map(({ key }) => key)
    await change(store, actor, ({ tables }) =>
      sql`delete from idempotency where account_id = ${accountId} and key in (${sql.join(keys)})`.execute(tables),
    )
    await yieldToWriters()
  }
}

/** The network's last words about a lane may name the recipient of its head. */
async function eraseWaitWords({ tables }: Change, { accountId, recipient }: OfRecipient): Promise<void> {
  const lanes = await tables
    .selectFrom('lane as l')
    .innerJoin('connection as c', 'c.id', 'l.connection_id')
    .select(['l.connection_id', 'l.wait_words'])
    .where('c.account_id', '=', accountId)
    .where('l.wait_words', 'is not', null)
    // In the order in which workers lock them.
    .orderBy('l.connection_id')
    .execute()
  const about = lanes.filter(({ wait_words: words }) => words !== null && mentionsNumber(words, recipient))
  for (const { connection_id: id } of about)
    await tables.updateTable('lane').set({ wait_words: null }).where('connection_id', '=', id).execute()
}

/** The network creates new ones with the next message to this number. It may know the person by the other spelling. */
async function eraseSessionKeys({ tables }: Change, { accountId, recipient }: OfRecipient): Promise<void> {
  const connections = tables.selectFrom('connection').select('id').where('account_id', '=', accountId)
  const about = spellingsOf(recipient)
  // Locks the sessions first, as their workers do before they write keys.
  await tables
    .updateTable('channel_session')
    .set((its) => ({ holds: its.ref('holds') }))
    .where('connection_id', 'in', (keys) =>
      keys
        .selectFrom('channel_session_key')
        .select('connection_id')
        .where('recipient', 'in', about)
        .where('connection_id', 'in', connections),
    )
    .execute()
  await tables
    .deleteFrom('channel_session_key')
    .where('recipient', 'in', about)
    .where('connection_id', 'in', connections)
    .execute()
}

async function refuseLeftovers(store: Store, of: OfRecipient): Promise<void> {
  for await (const sequences of messagesTo(store, of)) if (sequences.length > 0) throw stillWaiting()
}

function stillWaiting(): Refusal {
  return new Refusal(
    'recipient_has_waiting',
    'A message to this recipient came meanwhile. Block the number first, so that no more are sent, and erase it again.',
  )
}

/**
 * Removes a person from notifications that were sent to webhooks and from those that wait. It searches the notifications and
 * not the messages, because a message may be deleted before its notifications are.
 */
async function eraseNotices(store: Store, of: OfRecipient, actor: Actor): Promise<void> {
  for await (const positions of noticesAbout(store, of)) {
    for (let at = 0; at < positions.length; at += ERASED_AT_ONCE) {
      await change(store, actor, (making) => eraseSome(making, of.recipient, positions.slice(at, at + ERASED_AT_ONCE)))
      await yieldToWriters()
    }
  }
}

async function* noticesAbout({ database }: Store, of: OfRecipient): AsyncGenerator<readonly number[]> {
  const read = (last: { readonly position: number; readonly data: string } | null) =>
    database
      .selectFrom('notice')
      .select(['position', 'data'])
      .where('account_id', '=', of.accountId)
      .where('message_sequence', 'is not', null)
      .where('position', '>', last?.position ?? 0)
      .orderBy('position')
      .limit(READ_AT_ONCE)
      .execute()
  for await (const found of pages(READ_AT_ONCE, read, yieldToWriters)) {
    const about = found.filter(({ data }) => isAbout(data, of.recipient))
    if (about.length > 0) yield about.map(({ position }) => position)
  }
}

async function eraseSome({ tables, engine }: Change, recipient: string, positions: readonly number[]): Promise<void> {
  const without = (text: string) => withoutPerson(text, recipient)
  // A fan-out at the same time would copy the data that is erased here.
  await engine.beginDelivering(tables)
  const notices = await tables
    .selectFrom('notice')
    .select(['position', 'data'])
    .where('position', 'in', positions)
    .execute()
  for (const { position, data } of notices)
    await tables
      .updateTable('notice')
      .set({ data: without(data) })
      .where('position', '=', position)
      .execute()
  const deliveries = await tables
    .selectFrom('delivery')
    .select(['account_id', 'webhook_id', 'notice_position', 'payload'])
    .where('notice_position', 'in', positions)
    .execute()
  for (const row of deliveries) {
    await tables
      .updateTable('delivery')
      // A running try loses its claim, so it cannot store the answer that it gets.
      .set({ payload: without(row.payload), claim: null })
      .where('account_id', '=', row.account_id)
      .where('webhook_id', '=', row.webhook_id)
      .where('notice_position', '=', row.notice_position)
      .execute()
    await tables
      .updateTable('delivery_try')
      .set({ words: null, excerpt: null })
      .where('account_id', '=', row.account_id)
      .where('webhook_id', '=', row.webhook_id)
      .where('notice_position', '=', row.notice_position)
      .execute()
  }
}

/** Text that cannot be parsed is about every person it names. */
function isAbout(text: string, recipient: string): boolean {
  try {
    return (JSON.parse(text) as { readonly to?: unknown } | null)?.to === recipient
  } catch {
    return text.includes(recipient)
  }
}

/**
 * Erases fields by name and not by content, because the digits of a number may also occur in a time or an id. The network's
 * own words may quote the message. Text that cannot be parsed is erased completely.
 */
function withoutPerson(text: string, recipient: string): string {
  const number = namesNumber(recipient)
  try {
    return JSON.stringify(JSON.parse(text), (name, value: unknown) => {
      if (name === 'words') return null
      if (name === 'to' && value === recipient) return ERASED
      return name === 'nextStep' && typeof value === 'string' ? value.replace(number, ERASED) : value
    })
  } catch {
    return '{}'
  }
}
