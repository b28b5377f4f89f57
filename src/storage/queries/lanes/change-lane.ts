import type { RetryState, Sequence } from '../../../core/message/message.ts'
import { addTakenOut, NONE_TAKEN_OUT, type TakenOut } from '../../../core/message/taken-out.ts'
import type { LaneViews, OfConnection } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { writeSettings, writeState } from '../connections/connections.ts'
import { removeStep } from '../connections/remove-connection.ts'
import { cancelSome, selectCancellable, yieldToWriters } from '../messages/cancel-waiting.ts'
import { type Change, change, type Store, touchLane, writeAudit } from '../store.ts'
import { selectUnfinished } from './lane-order.ts'
import { mayBeEnded } from './lane-reason.ts'
import { livingConnection } from './read-lanes.ts'
import { endLaneWait } from './standstills.ts'

// How many parts one call makes: some 16,000 messages in half a second, so that the console can show progress.
const PARTS_AT_ONCE = 8
const COUNTED = 10_000

// The rest goes when its wait is over.
const RETRIES_ENDED = 1_000

export function createLaneChanges(
  store: Store,
): Pick<LaneViews, 'setState' | 'changeSettings' | 'endWait' | 'confirmBacklog'> {
  return {
    setState: (of, state, actor) =>
      change(store, actor, async (making) => {
        await writeState(making, await livingConnection(making.tables, of), state)
      }),
    changeSettings: (of, changed, actor) =>
      change(store, actor, async (making) => {
        await writeSettings(making, await livingConnection(making.tables, of), changed)
      }),
    /** Removes the stored wait. The service notices the change of the lane, and reads its state again without a wait. */
    endWait: (of, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        const connection = await livingConnection(tables, of)
        if (connection.state === 'paused')
          throw new Refusal('lane_not_waiting', 'This connection is paused. Resume it, then it sends at once.')
        const lane = await tables
          .selectFrom('lane')
          .select(['wait_reason', 'wait_until'])
          .where('connection_id', '=', of.id)
          .executeTakeFirst()
        const reason = lane?.wait_reason ?? null
        const isOver = lane?.wait_until != null && lane.wait_until <= at
        const isEndable = reason !== null && !isOver && mayBeEnded(reason)
        const retries = await endRetryWaits(making, of)
        if (!isEndable && retries === 0) throw new Refusal('lane_not_waiting')
        if (isEndable) await endLaneWait(making, of.id)
        await touchLane(making, of.id)
        const { accountId, id } = of
        await writeAudit(making, { action: 'connection.end-wait', object: id, accountId, detail: { reason } })
      }),
    /**
     * Approves a backlog that waited for a person. The lane counts as moving from now on: until the time after which a person is
     * asked again, it retries as usual, even if its network is still unreachable.
     */
    confirmBacklog: (of, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        await livingConnection(tables, of)
        const { numUpdatedRows } = await tables
          .updateTable('lane')
          .set({ last_attempt_at: at, failure_streak: null })
          .where('connection_id', '=', of.id)
          .where('wait_reason', '=', 'backlog_confirmation')
          .executeTakeFirstOrThrow()
        if (numUpdatedRows === 0n)
          throw new Refusal('lane_not_waiting', 'No backlog of this connection waits for a confirmation.')
        await endLaneWait(making, of.id)
        await touchLane(making, of.id)
        await writeAudit(making, { action: 'connection.confirm-backlog', object: of.id, accountId: of.accountId })
      }),
  }
}

/** Messages that wait for their next try go at once. Returns how many. */
async function endRetryWaits(making: Change, { id }: OfConnection): Promise<number> {
  const { tables } = making
  const rows = await tables
    .selectFrom('message')
    .select(['sequence', 'retry'])
    .where(
      'sequence',
      'in',
      selectUnfinished(tables, id).select('e.sequence').orderBy('e.sequence').limit(RETRIES_ENDED),
    )
    .execute()
  let ended = 0
  // All transactions lock the last message first.
  for (const row of rows.toSorted((a, b) => b.sequence - a.sequence)) if (await endRetryWait(making, row)) ended += 1
  return ended
}

/** False when the message does not wait for its next try. */
export async function endRetryWait(
  { tables, at }: Change,
  { sequence, retry }: { readonly sequence: Sequence; readonly retry: string | null },
): Promise<boolean> {
  const state = JSON.parse(retry ?? 'null') as RetryState | null
  if (state?.wait?.kind !== 'retry' || state.wait.until <= at) return false
  const { numUpdatedRows } = await tables
    .updateTable('message')
    .set({ retry: JSON.stringify({ ...state, wait: null }) })
    .where('sequence', '=', sequence)
    // Must not overwrite what its worker has written since.
    .where('retry', '=', retry)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export function createCancelling(store: Store): Pick<LaneViews, 'findLastBefore' | 'cancelWaiting' | 'removeSome'> {
  return {
    /** The last one that waits and was accepted before a time, for `cancelWaiting`; null when there is none. */
    async findLastBefore(of, before) {
      const { database } = store
      await livingConnection(database, of)
      const row = await selectCancellable(database, of.id)
        .where('e.accepted_at', '<', before)
        .select(({ fn }) => fn.max('e.sequence').as('last'))
        .executeTakeFirst()
      const last = row?.last ?? null
      return last === null ? null : String(last)
    },
    async cancelWaiting(of, cursor, actor) {
      let taken = NONE_TAKEN_OUT
      let upTo: Sequence | null =
        cursor !== null && /^\d{1,16}$/.test(cursor) ? Number(cursor) : Number.MAX_SAFE_INTEGER
      for (let part = 1; upTo !== null && part <= PARTS_AT_ONCE; part++) {
        if (part > 1) await yieldToWriters()
        const what = { of, upTo, isLast: part === PARTS_AT_ONCE }
        const done: Part = await change(store, actor, (making) => cancelPart(making, what))
        taken = addTakenOut(taken, done)
        upTo = done.upTo
      }
      return { ...taken, upTo: upTo === null ? null : String(upTo) }
    },
    async removeSome(of, mayCancel, actor) {
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
    },
  }
}

interface Part extends TakenOut {
  /** Where the next part begins; null when there is none. */
  readonly upTo: Sequence | null
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
