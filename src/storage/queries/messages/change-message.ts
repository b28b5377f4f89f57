import { sql, type UpdateResult } from 'kysely'
import { commandLine } from '../../../core/command-line.ts'
import type { MessageId } from '../../../core/ids.ts'
import { ERASED } from '../../../core/message/erased.ts'
import type { MessageState, RetryState } from '../../../core/message/message.ts'
import { ownWaitFacts } from '../../../core/message/own-wait.ts'
import type { Actor, MessageView } from '../../../core/ports/administration.ts'
import type { ChannelEvents } from '../../../core/ports/channel.ts'
import { Refusal } from '../../../core/refusals.ts'
import { CHANNEL_ACTOR } from '../../../format/name-actor.ts'
import { endRetryWait } from '../lanes/change-lane.ts'
import { ALL_CONNECTIONS, talliedAs } from '../overview/hour-tally.ts'
import { firstWhole, hourOf } from '../overview/hours.ts'
import { findBlock } from '../recipients/block-lists.ts'
import { addTimelineEntry, type Change, change, type Store, touchLane, writeAudit } from '../store.ts'
import { cancelledEnd } from './cancel-waiting.ts'
import { type MessageRow, selectMessages, shownState, toMessageViews } from './message-view.ts'
import { sendAgain } from './send-again.ts'

export function cancelMessage(store: Store, id: MessageId, actor: Actor): Promise<MessageView> {
  return change(store, actor, async (making) => {
    const { tables, at } = making
    const message = await findLocked(making, id)
    const state = shownState(message)
    if (state === 'SENDING') {
      throw new Refusal(
        'message_not_waiting',
        'This message is being handed over right now, so it cannot be cancelled.',
      )
    }
    if (state !== 'QUEUED')
      throw new Refusal(
        'message_not_waiting',
        `This message is ${state} and no longer waits, so it cannot be cancelled.`,
      )
    const ended = await tables
      .updateTable('message')
      .set({ ...cancelledEnd('cancelled_by_person'), settled_at: at })
      .where('sequence', '=', message.sequence)
      .where('state', '=', sql.lit('QUEUED'))
      .executeTakeFirstOrThrow()
    refuseTooLate(ended, 'message_not_waiting')
    await tables
      .updateTable('media')
      .set({ state: 'forgotten', ended_at: at })
      .where('message_sequence', '=', message.sequence)
      .where('state', '=', 'pending')
      .execute()
    await addTimelineEntry(making, {
      sequence: message.sequence,
      kind: 'cancelled',
      code: 'cancelled_by_person',
      facts: { by: making.actor, ...ownWaitFacts(JSON.parse(message.retry ?? 'null') as RetryState | null) },
    })
    await finish(making, message, { action: 'message.cancel' })
    return view(making, id)
  })
}

export function retryMessage(store: Store, id: MessageId, actor: Actor): Promise<MessageView> {
  return change(store, actor, async (making) => {
    const message = await findLocked(making, id)
    const state = shownState(message)
    if (state === 'QUEUED' && (await endRetryWait(making, message))) {
      await finish(making, message, { action: 'message.end-wait' })
      return view(making, id)
    }
    if (state === 'UNCONFIRMED') {
      throw new Refusal(
        'message_not_ended',
        `It is not known whether this message arrived. Use: ${commandLine`message resolve ID --arrived`} or --send-again`,
      )
    }
    if (state !== 'FAILED' && state !== 'EXPIRED' && state !== 'CANCELLED') {
      throw new Refusal(
        'message_not_ended',
        `This message is ${state}: only one that has failed, expired or been cancelled, or waits for its next try, can be retried.`,
      )
    }
    await refuseSentAgain(making, message)
    const resent = await sendAgain(making, message)
    await noteDealtWith(making, message, message.state)
    await finish(making, message, { action: 'message.retry', detail: { resent } })
    return view(making, resent)
  })
}

/** For a channel: null where a person would be refused. */
export function sendFailedAgain(
  store: Store,
  { connectionId, messageId, reason }: Parameters<ChannelEvents['sendAgain']>[0],
): Promise<MessageId | null> {
  return change(store, CHANNEL_ACTOR, async (making) => {
    const { tables, engine, at } = making
    const sequence = await engine.locate(tables, messageId)
    if (sequence === null) return null
    await engine.lockMessage(tables, sequence)
    const message = await selectMessages(tables, at).where('m.sequence', '=', sequence).executeTakeFirst()
    if (message?.connection_id !== connectionId || message.connection_state === 'removed') return null
    if (message.state !== 'FAILED' || message.reason !== reason || message.resent_as !== null) return null
    if (message.recipient === ERASED || (await findBlock(tables, message.account_id, [message.recipient]))) return null
    if (message.body_deleted_at !== null) return null
    const resent = await sendAgain(making, message)
    await noteDealtWith(making, message, message.state)
    await finish(making, message, { action: 'message.retry', detail: { resent } })
    return resent
  })
}

export function resolveMessage(
  store: Store,
  { id, as }: { readonly id: MessageId; readonly as: 'arrived' | 'send-again' },
  actor: Actor,
): Promise<MessageView> {
  return change(store, actor, async (making) => {
    const message = await findLocked(making, id)
    if (message.state !== 'UNCONFIRMED') {
      throw new Refusal(
        'message_not_unconfirmed',
        `This message is ${shownState(message)}, not UNCONFIRMED, so there is nothing to resolve.`,
      )
    }
    if (message.resolved_at !== null) throw new Refusal('message_not_unconfirmed', 'This message was resolved already.')
    return as === 'arrived' ? resolveArrived(making, message) : resolveSendAgain(making, message)
  })
}

async function resolveArrived(making: Change, message: MessageRow): Promise<MessageView> {
  const { tables, at, actor } = making
  const resolved = await tables
    .updateTable('message')
    .set({ state: 'PUBLISHED', reason: 'marked_arrived', published_at: at, resolved_at: at })
    .where('sequence', '=', message.sequence)
    .executeTakeFirstOrThrow()
  refuseTooLate(resolved, 'message_not_unconfirmed')
  // Its former reason is kept here, because the row now has the one that the person gave.
  const facts = { by: actor, as: 'arrived', was: message.reason }
  await addTimelineEntry(making, { sequence: message.sequence, kind: 'resolved', code: 'marked_arrived', facts })
  await noteDealtWith(making, message, 'PUBLISHED')
  await finish(making, message, { action: 'message.resolve', detail: { as: 'arrived' } })
  return view(making, message.id)
}

async function resolveSendAgain(making: Change, message: MessageRow): Promise<MessageView> {
  const { tables, at, actor } = making
  const resolved = await tables
    .updateTable('message')
    .set({ resolved_at: at })
    .where('sequence', '=', message.sequence)
    .executeTakeFirstOrThrow()
  refuseTooLate(resolved, 'message_not_unconfirmed')
  await addTimelineEntry(making, {
    sequence: message.sequence,
    kind: 'resolved',
    facts: { by: actor, as: 'send-again' },
  })
  const resent = await sendAgain(making, message)
  await noteDealtWith(making, message, message.state)
  await finish(making, message, { action: 'message.resolve', detail: { as: 'send-again', resent } })
  return view(making, resent)
}

/** A second copy by accident would be an unwanted duplicate (G5). */
async function refuseSentAgain({ tables }: Change, message: MessageRow): Promise<void> {
  if (message.resent_as === null) return
  const newer = await tables
    .selectFrom('message')
    .select('id')
    .where('sequence', '=', message.resent_as)
    .executeTakeFirst()
  throw new Refusal(
    'message_sent_again',
    `This message was sent again already, as ${newer?.id ?? 'another message'}: check that one instead.`,
  )
}

async function finish(
  making: Change,
  message: MessageRow,
  did: { action: string; detail?: Readonly<Record<string, unknown>> },
): Promise<void> {
  await touchLane(making, message.connection_id)
  await writeAudit(making, { ...did, object: message.id, accountId: message.account_id })
}

async function view(making: Change, id: MessageId): Promise<MessageView> {
  const [message] = await toMessageViews(making, [await find(making, id)], { now: making.at, error: null })
  if (!message) throw new Error('A message that was just changed has gone')
  return message
}

/** Without an updated row the message changed in the meantime, so nothing else may be written either. */
function refuseTooLate(
  { numUpdatedRows }: UpdateResult,
  code: 'message_not_waiting' | 'message_not_unconfirmed',
): void {
  if (numUpdatedRows === 0n) throw new Refusal(code, 'The state of this message has just changed. Check it again.')
}

/** Locks the message, so that its state stays as read. */
async function findLocked(making: Change, id: MessageId): Promise<MessageRow> {
  const { tables, engine } = making
  const sequence = await engine.locate(tables, id)
  if (sequence !== null) await engine.lockMessage(tables, sequence)
  return find(making, id)
}

async function find({ tables, engine, at }: Change, id: MessageId): Promise<MessageRow> {
  const sequence = await engine.locate(tables, id)
  const row =
    sequence === null ? null : await selectMessages(tables, at).where('m.sequence', '=', sequence).executeTakeFirst()
  if (!row) throw new Refusal('message_unknown', `There is no message with the id ${id}.`)
  return row
}

type Dealt = Pick<MessageRow, 'account_id' | 'connection_id' | 'state' | 'accepted_at'>

/**
 * A person has dealt with a message, so the overview must no longer show that it needs attention. Its hour is counted again at
 * once. In an hour too old for that, the figures are corrected, except those by reason, which are shown for a week only.
 */
async function noteDealtWith(making: Change, message: Dealt, now: MessageState): Promise<void> {
  const { tables, at } = making
  const hour = hourOf(message.accepted_at)
  if (hour >= firstWhole(at)) {
    await tables.updateTable('tally_hour').set({ counted_at: 0 }).where('hour', '=', hour).execute()
    return
  }
  const [before, after] = [talliedAs(message.state), talliedAs(now)]
  if (before === after) return
  // Locks the hour before its figures, as the count does that stores them.
  await tables
    .updateTable('tally_hour')
    .set((its) => ({ counted_at: its.ref('counted_at') }))
    .where('hour', '=', hour)
    .execute()
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
