import { ERASED, namesNumber } from '../../../core/message/erased.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import { yieldToWriters } from '../messages/cancel-waiting.ts'
import { type Change, change, type Store } from '../store.ts'
import type { OfRecipient } from './find-traces.ts'

const READ_AT_ONCE = 5_000
const ERASED_AT_ONCE = 100

/**
 * Removes a person from notifications that were sent to webhooks and from those that wait. It searches the notifications and
 * not the messages, because a message may be deleted before its notifications are.
 */
export async function eraseNotices(store: Store, of: OfRecipient, actor: Actor): Promise<void> {
  for await (const positions of noticesAbout(store, of)) {
    for (let at = 0; at < positions.length; at += ERASED_AT_ONCE) {
      await change(store, actor, (making) => eraseSome(making, of.recipient, positions.slice(at, at + ERASED_AT_ONCE)))
      await yieldToWriters()
    }
  }
}

async function* noticesAbout({ database }: Store, of: OfRecipient): AsyncGenerator<readonly number[]> {
  for (let after = 0; ; ) {
    const found = await database
      .selectFrom('notice')
      .select(['position', 'data'])
      .where('account_id', '=', of.accountId)
      .where('message_sequence', 'is not', null)
      .where('position', '>', after)
      .orderBy('position')
      .limit(READ_AT_ONCE)
      .execute()
    const about = found.filter(({ data }) => isAbout(data, of.recipient))
    if (about.length > 0) yield about.map(({ position }) => position)
    const last = found.at(-1)
    if (!last || found.length < READ_AT_ONCE) return
    after = last.position
    await yieldToWriters()
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
      // A try that runs now has lost its claim, and with it the right to write down what it was answered.
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
