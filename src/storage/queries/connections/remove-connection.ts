import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { addTakenOut, NONE_TAKEN_OUT, type TakenOut } from '../../../core/message/taken-out.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import { Refusal } from '../../../core/refusals.ts'
import { hasSealedForm } from '../../../core/sealed-form.ts'
import { counted } from '../../../format/counted.ts'
import { beginPause } from '../lanes/standstills.ts'
import { cancelSome, selectCancellable, yieldToWriters } from '../messages/cancel-waiting.ts'
import { type Change, change, type Reader, type Store, touchLane, writeAudit } from '../store.ts'
import { announceConnection } from '../webhooks/write-notifications.ts'

interface WantedRemoval {
  readonly id: ConnectionId
  readonly cancelWaiting: boolean
}

/**
 * A long lane is cancelled in several transactions, the last of which removes the connection. If this is interrupted, the
 * connection is paused and has fewer messages, and the same command finishes the work.
 */
export async function removeConnection(store: Store, wanted: WantedRemoval, actor: Actor): Promise<TakenOut> {
  let taken = NONE_TAKEN_OUT
  for (;;) {
    const step = await change(store, actor, (making) => removeStep(making, wanted))
    taken = addTakenOut(taken, step)
    if (step.removed) return taken
    await yieldToWriters()
  }
}

/** One of these transactions. */
export async function removeStep(
  making: Change,
  { id, cancelWaiting }: WantedRemoval,
): Promise<TakenOut & { readonly removed: boolean }> {
  const { tables, engine, at } = making
  // The lock comes first: a message accepted in the meantime would stay on a removed connection and never be sent.
  await engine.lockLane(tables, id)
  const connection = await tables
    .selectFrom('connection')
    .selectAll()
    .where('id', '=', id)
    .where('state', '<>', 'removed')
    .executeTakeFirst()
  if (!connection) throw new Refusal('connection_unknown', 'This connection was removed already.')
  if (!cancelWaiting) await refuseWaiting(tables, id)

  const what = { id, upTo: Number.MAX_SAFE_INTEGER, reason: 'connection_removed' } as const
  const { isAll: removed, cancelled, unconfirmed } = await cancelSome(making, what)
  await tables
    .updateTable('connection')
    .set(
      removed
        ? { state: 'removed', removed_at: at, channel_settings: withoutSecrets(connection.channel_settings) }
        : { state: 'paused' },
    )
    .where('id', '=', id)
    .execute()
  if (!removed && connection.state === 'active') await beginPause(making, id)
  if (removed) {
    await tables.deleteFrom('session_request').where('connection_id', '=', id).execute()
    await tables.deleteFrom('session_status').where('connection_id', '=', id).execute()
  }
  await touchLane(making, id)
  const { number, channel, account_id: accountId } = connection
  await noteRemoval(making, { id, number, accountId, removed, cancelled, unconfirmed })
  if (removed) await announceConnection(making, { kind: 'connection.removed', accountId, id, number, channel })
  return { cancelled, unconfirmed, removed }
}

async function refuseWaiting(tables: Reader, id: ConnectionId): Promise<void> {
  const { waiting } = await selectCancellable(tables, id)
    .select(({ fn }) => fn.countAll<number>().as('waiting'))
    .executeTakeFirstOrThrow()
  if (waiting === 0) return
  throw new Refusal(
    'connection_has_waiting',
    `${counted(waiting, 'message waits', 'messages wait')} on this connection; removing it cancels them. Say --cancel-waiting to do so.`,
  )
}

async function noteRemoval(
  making: Change,
  what: TakenOut & { id: ConnectionId; number: string; accountId: AccountId; removed: boolean },
): Promise<void> {
  const { id, number, accountId, removed, cancelled, unconfirmed } = what
  const action = removed ? 'connection.remove' : 'connection.cancel-waiting'
  await writeAudit(making, { action, object: id, accountId, detail: { number, cancelled, unconfirmed } })
}

/** The settings as JSON without sealed values at any depth. */
function withoutSecrets(settings: string): string {
  return JSON.stringify(JSON.parse(settings), (_, value: unknown) => {
    if (Array.isArray(value)) return (value as unknown[]).filter((each) => !isSealed(each))
    return isSealed(value) ? undefined : value
  })
}

function isSealed(value: unknown): boolean {
  return typeof value === 'string' && hasSealedForm(value)
}
