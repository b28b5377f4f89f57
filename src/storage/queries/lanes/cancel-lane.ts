import type { Sequence } from '../../../core/message/message.ts'
import { addTakenOut, NONE_TAKEN_OUT } from '../../../core/message/taken-out.ts'
import type { Actor, TakenOut } from '../../../core/ports/administration.ts'
import type { LaneViews, OfConnection } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { removeStep } from '../connections/remove-connection.ts'
import { cancelSome, selectCancellable, yieldToWriters } from '../messages/cancel-waiting.ts'
import { type Change, change, type Store, touchLane, writeAudit } from '../store.ts'
import { livingConnection } from './living-connection.ts'

// How many parts one call makes: some 16,000 messages in half a second, so that the console can show progress.
const PARTS_AT_ONCE = 8
const COUNTED = 10_000

interface Part extends TakenOut {
  /** Where the next part continues; null when there is none. */
  readonly upTo: Sequence | null
}

export async function cancelWaiting(
  store: Store,
  { of, upTo: cursor }: { readonly of: OfConnection; readonly upTo: string | null },
  actor: Actor,
): ReturnType<LaneViews['cancelWaiting']> {
  let taken = NONE_TAKEN_OUT
  let upTo: Sequence | null = cursor !== null && /^\d{1,16}$/.test(cursor) ? Number(cursor) : Number.MAX_SAFE_INTEGER
  for (let part = 1; upTo !== null && part <= PARTS_AT_ONCE; part++) {
    if (part > 1) await yieldToWriters()
    const what = { of, upTo, isLast: part === PARTS_AT_ONCE }
    const done: Part = await change(store, actor, (making) => cancelPart(making, what))
    taken = addTakenOut(taken, done)
    upTo = done.upTo
  }
  return { ...taken, upTo: upTo === null ? null : String(upTo) }
}

async function cancelPart(
  making: Change,
  { of, upTo, isLast }: { readonly of: OfConnection; readonly upTo: Sequence; readonly isLast: boolean },
): Promise<Part> {
  const { accountId, id } = of
  const { number } = await livingConnection(making.tables, of)
  const { isAll, cancelled, unconfirmed, first } = await cancelSome(making, { id, upTo, reason: 'cancelled_by_person' })
  // One notification for several parts: the service counts the lane at each. The messages that it has loaded already are
  // checked again before they are sent.
  if (isAll || isLast) await touchLane(making, id)
  if (cancelled + unconfirmed > 0) {
    const detail = { number, cancelled, unconfirmed }
    await writeAudit(making, { action: 'connection.cancel-waiting', object: id, accountId, detail })
  }
  return { cancelled, unconfirmed, upTo: isAll || first === null ? null : first - 1 }
}

export async function removeSome(
  store: Store,
  { of, cancelWaiting: mayCancel }: { readonly of: OfConnection; readonly cancelWaiting: boolean },
  actor: Actor,
): ReturnType<LaneViews['removeSome']> {
  let taken = NONE_TAKEN_OUT
  for (let part = 1; part <= PARTS_AT_ONCE; part++) {
    if (part > 1) await yieldToWriters()
    const step = await change(store, actor, async (making) => {
      await livingConnection(making.tables, of)
      if (!mayCancel) await refuseWaiting(making, of)
      return removeStep(making, { id: of.id, cancelWaiting: true })
    })
    taken = addTakenOut(taken, step)
    if (step.removed) return { ...taken, isRemoved: true }
  }
  return { ...taken, isRemoved: false }
}

/** The count is bounded, because accepting is blocked while it runs. */
async function refuseWaiting({ tables, engine }: Change, { id }: OfConnection): Promise<void> {
  await engine.lockLane(tables, id)
  const some = await selectCancellable(tables, id)
    .select('e.sequence')
    .limit(COUNTED + 1)
    .execute()
  if (some.length === 0) return
  const many = some.length > COUNTED ? `more than ${COUNTED.toLocaleString('en')}` : String(some.length)
  const subject = some.length === 1 ? '1 message waits' : `${many} messages wait`
  throw new Refusal('connection_has_waiting', `${subject} on this connection; removing it cancels them.`)
}
